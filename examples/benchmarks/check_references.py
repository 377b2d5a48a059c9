"""The references against known values: closed form, and gold.json where other hands computed them.

python check_references.py --methods importance bridge --cases softmax:1000 overlap:10000:3 overlap:10000:5
"""

import argparse
from time import perf_counter

from bench import make_case, number, report, seconds
from references import compute


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--methods", nargs="+", default=["importance"], choices=["importance", "bridge", "laplace"]
    )
    parser.add_argument(
        "--cases", nargs="+", default=["linear:1000", "softmax:1000", "mixture:1000", "overlap:10000:3"]
    )
    parser.add_argument("--markdown")
    args = parser.parse_args()
    body = []
    for text in args.cases:
        name, n, *K = text.split(":")
        case = make_case(name, int(n), 1, int(K[0]) if K else None)
        known = compute(case, "auto" if name == "linear" else "gold")
        for method in args.methods:
            start = perf_counter()
            r = compute(case, method)
            row = [
                case.name,
                n,
                r.method,
                number(r.log_evidence, 3),
                number(r.std, 3),
                number(100 * r.ess, 1),
            ]
            known_text = number(known.log_evidence, 3) if known else "-"
            error = number(r.log_evidence - known.log_evidence, 3, True) if known else "-"
            body.append([*row, known_text, error, seconds(perf_counter() - start)])
            print(*body[-1], flush=True)
    header = ["case", "n", "method", "log evidence", "std", "ESS %", "known", "difference", "time"]
    report("References against known values", header, body, args.markdown)


if __name__ == "__main__":
    main()
