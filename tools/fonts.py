"""Make the reports' fonts: subsets of three free families.

Download the families and the tools into a separate folder, and run this script there::

    npm pack source-serif@4.5.1 source-sans@3.52.0 @fontsource/stix-two-math@5.3.0
    for file in *.tgz; do mkdir -p ${file%.tgz}; tar xzf $file -C ${file%.tgz}; done
    pip install fonttools==4.68.0 brotli
    python .../tools/fonts.py .

It writes ``srlib/runner/templates/fonts``: the fonts and their licenses, which are the
SIL Open Font License 1.1. Source Sans 3 and Source Serif 4 are by Adobe, which reserves
the name Source for the complete fonts, so subsets have other names. STIX Two Math is by
the STIX Fonts Project.
"""

import shutil
import sys
from pathlib import Path

from fontTools import subset  # type: ignore[import-not-found]
from fontTools.ttLib import TTFont  # type: ignore[import-not-found]

FONTS = Path(__file__).parents[1] / "srlib" / "runner" / "templates" / "fonts"
FOLDERS = {
    "source-serif": "source-serif-4.5.1/package",
    "source-sans": "source-sans-3.52.0/package",
    "stix-two-math": "fontsource-stix-two-math-5.3.0/package",
}
FACES = {
    "source-serif-regular": (
        "source-serif",
        "WOFF2/TTF/SourceSerif4-Regular.ttf.woff2",
    ),
    "source-serif-italic": ("source-serif", "WOFF2/TTF/SourceSerif4-It.ttf.woff2"),
    "source-serif-semibold": (
        "source-serif",
        "WOFF2/TTF/SourceSerif4-Semibold.ttf.woff2",
    ),
    "source-sans-regular": ("source-sans", "WOFF2/TTF/SourceSans3-Regular.ttf.woff2"),
    "source-sans-semibold": ("source-sans", "WOFF2/TTF/SourceSans3-Semibold.ttf.woff2"),
    "stix-two-math": ("stix-two-math", "files/stix-two-math-latin-400-normal.woff2"),
}
# European names, Greek, punctuation, raised and lowered digits, arrows and the usual
# signs.
TEXT = (
    "20-7E A0-17F 302 308 391-3A9 3B1-3C9 3D5 3F5 2010-2015 2018-201E 2020-2022 2026 "
    "202F 2030 2032 2033 2070 2071 2074-208E 2090-209C 20AC 2113 2122 2190-2193 2202 "
    "2206 220F 2211 2212 2215 2217 221A 221E 222B 2248 2260 2264 2265 25CF 2713"
)
# The same for formulas, with the italic alphabets that browsers use for single letters.
MATHEMATICS = (
    "20-7E A0 AC AF B1 B7 D7 F7 131 237 2C6 2DC 300-304 307 308 30A 30C 338 391-3A9 "
    "3B1-3D6 3F5 2016 2026 2032-2034 2061-2064 20D7 210E 2113 211D 2115 2190-2194 "
    "21A6 21D2 21D4 2200 2202-2205 2207-2209 220B 220F-2213 2215-2218 221A 221D 221E "
    "2223 2225-222B 223C 2243 2245 2248 2254 2260 2261 2264 2265 226A 226B 2282 2283 "
    "2286 2287 2295 2297 22A5 22C5 22EE 22EF 22F1 2308-230B 23DE 23DF 27E8 27E9 "
    "1D400-1D467 1D49C-1D4B5 1D6A4 1D6A5 1D6E2-1D71B"
)


def main() -> None:
    """Write all fonts and licenses."""
    source = Path(sys.argv[1])
    FONTS.mkdir(exist_ok=True)
    for name, (family, file) in FACES.items():
        characters = MATHEMATICS if name == "stix-two-math" else TEXT
        unicodes = ",".join(f"U+{part}" for part in characters.split())
        features = (
            "*"
            if name == "stix-two-math"
            else "kern,liga,mark,mkmk,ccmp,locl,tnum,lnum"
        )
        target = FONTS / f"{name}.woff2"
        subset.main(
            [
                str(source / FOLDERS[family] / file),
                f"--unicodes={unicodes}",
                f"--layout-features={features}",
                "--no-hinting",
                "--name-IDs=0,1,2,3,4,5,6,13,14",
                "--desubroutinize",
                "--flavor=woff2",
                f"--output-file={target}",
            ]
        )
        font = TTFont(target)
        for record in font["name"].names:
            if record.nameID in (1, 3, 4, 6):
                record.string = f"srlib-{name}"
        font.save(target)
        print(f"{target.name}: {target.stat().st_size:,} bytes")
    for family, folder in FOLDERS.items():
        (license_,) = (source / folder).glob("LICENSE*")
        shutil.copy(license_, FONTS / f"{family}.LICENSE.txt")


if __name__ == "__main__":
    main()
