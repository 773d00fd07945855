"""Build the wheel, install it into an environment of its own, and work with it there.

Nothing is downloaded: the packages that it depends on are lent by the environment that this runs in, by their path only, so
that the equipoise that is used is the wheel's. `--index` installs them from the package index instead, as users do.
"""

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEEDED = ("equipoise/py.typed", "equipoise/web/static/", "equipoise/bench/spots/")
WORK = (
    ["solve", "leduc_poker", "--iterations", "200", "--out", "run"],
    ["show", "run", "--player", "0", "--limit", "2"],
    ["plot", "run", "-o", "run.png"],
    ["evaluate", "run"],
    ["algorithms", "deep-cfr"],
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(place), str(ROOT)]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = place.glob("*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        for needed in NEEDED:
            assert any(name.startswith(needed) for name in names), f"{needed} is not in {wheel.name}"
        assert not any(name.startswith(("tests/", "docs/")) for name in names)
        venv.create(place / "env", with_pip=True)
        python = place / "env" / "bin" / "python"
        index = "--index" in sys.argv
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        options = ["-c", str(ROOT / "constraints.txt")] if index else ["--no-index", "--no-deps"]
        subprocess.run([*install, *options, str(wheel)], check=True)
        lent = "" if index else os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PYTHONPATH": lent}
        where = [python, "-c", "import equipoise; print(equipoise.__file__)"]
        found = subprocess.run(where, env=environment, cwd=place, check=True, capture_output=True, text=True).stdout
        assert found.startswith(str(place / "env")), found
        for words in WORK:
            command = [place / "env" / "bin" / "equipoise", *words]
            subprocess.run(command, env=environment, cwd=place, check=True, stdout=subprocess.DEVNULL)
        print(f"{wheel.name} ({len(names)} files) installs and works")


if __name__ == "__main__":
    main()
