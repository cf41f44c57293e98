"""Compute reference values with R's rpart, and write them to tests/rpart.json.

Needs R with rpart (Debian: r-base-core, r-cran-rpart). From 500 records of the embedded
population, rpart grows a tree for each variable given the ones before it, with
synthpop's default settings but without surrogate splits. Its trees give the probability
of a release: given these records, and given records of which one differs in one
variable. Run it from the project's root:

    .venv/bin/python tools/rpart_reference.py
"""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from srlib.data import microdata
from srlib.risk import one_variable_supports
from srlib.rng import stream
from srlib.trees import fit_trees

N_RECORDS = 500
N_TARGETS = 6
R = r"""
suppressMessages(library(rpart))
read <- function(name) unname(as.matrix(read.csv(name, header = FALSE)))
levels_of <- read("levels.csv")[1, ]
frame <- function(codes) {
  columns <- lapply(seq_along(levels_of), function(j) {
    factor(codes[, j], 0:(levels_of[j] - 1))
  })
  setNames(as.data.frame(columns), paste0("v", seq_along(levels_of)))
}
data <- frame(read("data.csv"))
release <- frame(read("release.csv"))
of_tree <- function(data, k) {
  if (k == 1) {
    share <- table(data[[1]]) / nrow(data)
    return(c(1, sum(log(share[as.integer(release[[1]])]))))
  }
  formula <- reformulate(names(data)[1:(k - 1)], names(data)[k])
  tree <- rpart(formula, data, method = "class", minbucket = 5, cp = 1e-8,
                maxsurrogate = 0, xval = 0)
  prob <- predict(tree, release, type = "prob")
  column <- match(as.character(release[[k]]), colnames(prob))
  drawn <- prob[cbind(seq_len(nrow(release)), column)]
  c(sum(tree$frame$var == "<leaf>"), sum(log(ifelse(is.na(drawn), 0, drawn))))
}
all_trees <- seq_along(levels_of)
write.table(t(sapply(all_trees, function(k) of_tree(data, k))), "trees.csv", sep = ",",
            row.names = FALSE, col.names = FALSE)
rows <- read("rows.csv")[, 1] + 1
candidates <- read("candidates.csv")
each <- nrow(candidates) / length(rows)
out <- t(sapply(seq_len(nrow(candidates)), function(i) {
  changed <- data
  row <- rows[(i - 1) %/% each + 1]
  changed[row, ] <- frame(candidates[i, , drop = FALSE])[1, ]
  sapply(all_trees, function(k) of_tree(changed, k)[2])
}))
write.table(out, "changed.csv", sep = ",", row.names = FALSE, col.names = FALSE)
cat(R.version.string, "with rpart", as.character(packageVersion("rpart")))
"""


def main() -> None:
    """Write tests/rpart.json."""
    data = microdata.load("", n_records=N_RECORDS, rng=stream(1, "records"))
    (release,) = fit_trees(data).release(rng=stream(1, "release"))
    _, first, count = np.unique(
        data.codes, axis=0, return_index=True, return_counts=True
    )
    rows = np.sort(first[count == 1])[:N_TARGETS]
    candidates = one_variable_supports(data.codes[rows], data.schema.n_levels)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = {
            "levels": data.schema.n_levels[None],
            "data": data.codes,
            "release": release.codes,
            "rows": rows[:, None],
            "candidates": candidates.reshape(-1, candidates.shape[2]),
        }
        for what, values in given.items():
            np.savetxt(folder / f"{what}.csv", values, fmt="%d", delimiter=",")
        said = subprocess.run(
            ["Rscript", "-e", R], cwd=folder, check=True, capture_output=True, text=True
        )
        leaves, log_prob = np.loadtxt(folder / "trees.csv", delimiter=",").T
        changed = np.loadtxt(folder / "changed.csv", delimiter=",", converters=float)
    found = {
        "made by": said.stdout,
        "release": ["".join(map(str, record)) for record in release.codes],
        "rows": rows.tolist(),
        "leaves": leaves.astype(int).tolist(),
        "log_prob": log_prob.round(9).tolist(),
        "changed": [[f"{value:.9g}" for value in tree] for tree in changed],
    }
    text = json.dumps(found, indent=0, separators=(",", ":"))
    Path("tests/rpart.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
