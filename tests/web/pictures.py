"""Pictures of the page, taken by a script: ``python -m tests.web.pictures`` writes those of the documents.

``python -m tests.web.pictures FOLDER`` writes every room to another folder, on a laptop and on a phone, light and dark,
to be looked at.
"""

import re
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import expect, sync_playwright

import equipoise
from tests.web.conftest import CHROMIUM, PATIENCE, serving

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
SIZES = {"laptop": (1280, 800), "phone": (390, 844)}
COLOURS = 256  # of a small PNG


def make_runs(folder):
    """Make what the pictures show."""
    for algorithm in ("cfr", "cfr+", "dcfr", "pcfr+"):
        name = f"leduc-{algorithm.replace('+', '-plus')}"
        equipoise.solve("leduc_poker", algorithm, iterations=3000, out=folder / name)
    equipoise.solve("nl_leduc(stack=5)", "rs-mccfr+", iterations=100, out=folder / "nl-leduc")
    equipoise.solve("kuhn_poker", iterations=300, out=folder / "kuhn")
    equipoise.solve(
        equipoise.spot("Td9d6hQc", 200, 900, "66+,A8s+,KQo", "QQ-22,AJo:0.5,T9s", "0.5-1-allin"),
        until_pot=0.5,
        out=folder / "turn",
    )
    equipoise.solve("flop_holdem(caps=1-1)", iterations=20, out=folder / "flop")


def runs(window, url):
    names = ("cfr", "cfr-plus", "dcfr", "pcfr-plus")
    window.goto(url + "runs?" + "&".join(f"run=page/leduc-{name}" for name in names))
    expect(window.locator("svg.chart .curve")).to_have_count(4)
    expect(window.locator("[data-run]")).to_have_count(4)


def compare(window, url):
    window.goto(url + "compare")
    window.get_by_label("Player A").select_option("page/leduc-pcfr-plus")
    window.get_by_label("Player B").select_option("page/leduc-cfr")
    window.get_by_label("Hands", exact=True).fill("3000000")
    window.get_by_role("button", name="Play", exact=True).click()
    expect(window.get_by_role("region", name="Match", exact=True)).to_contain_text("over")


def spot(window, url):
    window.goto(url + "spot?run=page/turn")
    expect(window.get_by_role("region", name="Progress").locator(".large")).to_be_visible()


def explore(window, url):
    window.goto(url + "explore?policy=page/turn&line=c")
    expect(window.get_by_role("grid").first).to_be_visible()
    window.locator("[aria-busy]").wait_for(state="detached")


def explore_leduc(window, url):
    window.goto(url + "explore?policy=page/leduc-cfr-plus&line=cr")
    expect(window.locator("main table").first).to_be_visible()
    window.locator("[aria-busy]").wait_for(state="detached")


def explore_flop(window, url):
    window.goto(url + "explore?policy=page/flop&line=cc/&board=2c7dAs")
    expect(window.get_by_role("grid").first).to_be_visible()
    window.locator("[aria-busy]").wait_for(state="detached")


def play(window, url):
    window.goto(url + "play?solution=page/flop")
    window.get_by_label("Your seat").select_option("0")
    window.get_by_label("say what each choice cost").check()
    window.get_by_role("button", name="Deal").click()
    window.get_by_role("button", name=re.compile("call")).click()
    window.locator("[aria-busy]").wait_for(state="detached")
    expect(window.locator(".playing-card").first).to_be_visible()


ROOMS = {
    "runs": runs,
    "explore": explore,
    "explore-leduc": explore_leduc,
    "explore-flop": explore_flop,
    "play": play,
    "compare": compare,
    "spot": spot,
}
IN_DOCUMENTS = {
    "page-runs": ("runs", "laptop", False),
    "page-explore": ("explore", "laptop", False),
    "page-play": ("play", "phone", False),
    "page-compare": ("compare", "laptop", False),
    "page-spot": ("spot", "laptop", True),
}


def take(browser, url, room, size, dark, path, *, whole):
    """Take a picture of a room."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", locale="en-GB"
    )
    context.set_default_timeout(PATIENCE)
    window = context.new_page()
    ROOMS[room](window, url)
    window.evaluate("document.activeElement?.blur()")
    window.evaluate("window.scrollTo(0, 0)")
    window.screenshot(path=path, full_page=whole, animations="disabled")
    context.close()
    Image.open(path).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def main():
    """Take the pictures."""
    expect.set_options(timeout=PATIENCE)
    with tempfile.TemporaryDirectory() as base, sync_playwright() as playwright:
        make_runs(Path(base) / "page")
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        with serving(base, "page") as served:
            if len(sys.argv) > 1:
                folder = Path(sys.argv[1])
                folder.mkdir(parents=True, exist_ok=True)
                for room in ROOMS:
                    for size in SIZES:
                        for dark in (False, True):
                            name = f"{room}-{size}-{'dark' if dark else 'light'}.png"
                            take(browser, served.url, room, size, dark, folder / name, whole=True)
            else:
                for name, (room, size, dark) in IN_DOCUMENTS.items():
                    take(browser, served.url, room, size, dark, PICTURES / f"{name}.png", whole=False)
        browser.close()


if __name__ == "__main__":
    main()
