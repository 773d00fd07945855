"""Which variant of CFR is fastest on a game? Exploitability by iteration, side by side."""

import equipoise

NAMES = ("cfr", "cfr+", "lcfr", "dcfr", "pcfr+", "xfp")
runs = {name: equipoise.solve("one_card_poker(cards=5)", name, iterations=300) for name in NAMES}
print("iteration " + "".join(f"{name:>10}" for name in NAMES))
for index, record in enumerate(runs["cfr"].history):
    if index % 10 == 0 or record is runs["cfr"].history[-1]:
        levels = [run.history[index]["exploitability"] for run in runs.values()]
        print(f"{record['iteration']:>9} " + "".join(f"{level:>10.2e}" for level in levels))
