/** The confusion matrix and the recall of every class. */

import { byId, count, element, percent } from "./elements.js";

export class Confusion {
  /** @param {import("./report.js").Report} report */
  constructor(report) {
    this.report = report;
    const { classes } = report;
    this.cells = classes.map(() => classes.map(() => element("td")));
    byId("matrix").append(
      element("caption", { class: "unseen" }, "Labels in rows, predictions in columns"),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          element("td", { class: "corner" }),
          ...classes.map((name) => element("th", { scope: "col" }, name)),
        ),
      ),
      element(
        "tbody",
        {},
        ...classes.map((name, p) =>
          element("tr", {}, element("th", { scope: "row" }, name), ...this.cells[p]),
        ),
      ),
    );
    byId("matrix").classList.toggle("dense", classes.length > 16);
    byId("confusion").classList.toggle("many", classes.length > 16);
    this.bars = classes.map(() => element("span", { class: "bar" }));
    this.shares = classes.map(() => element("td", { class: "number" }));
    byId("recall").append(
      element("caption", { class: "unseen" }, "Recall by class"),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          element("th", { scope: "col" }, "Class"),
          element("th", { scope: "col", class: "number" }, "Rows"),
          element("th", { scope: "col", class: "number" }, "Recall"),
          element("td", { class: "wide" }),
        ),
      ),
      element(
        "tbody",
        {},
        ...classes.map((name, p) =>
          element(
            "tr",
            {},
            element("th", { scope: "row" }, name),
            element("td", { class: "number" }, count(this.rowTotal(report.matrices[0], p))),
            this.shares[p],
            element(
              "td",
              { class: "wide", "aria-hidden": "true" },
              element("span", { class: "track" }, this.bars[p]),
            ),
          ),
        ),
      ),
    );
  }

  rowTotal(matrix, p) {
    const { k } = this.report;
    return matrix.subarray(p * k, (p + 1) * k).reduce((sum, n) => sum + n, 0);
  }

  show(model) {
    const { k } = this.report;
    for (let p = 0; p < k; p++) {
      const total = this.rowTotal(model.confusion, p);
      for (let q = 0; q < k; q++) {
        const n = model.confusion[p * k + q];
        const cell = this.cells[p][q];
        cell.textContent = n ? count(n) : "";
        cell.className = p === q ? "right" : "wrong";
        // Roots, and full colour from a sixth of a row on, let a few errors be seen.
        const share = total ? Math.sqrt(n / total) : 0;
        cell.style.setProperty("--share", p === q ? share : Math.min(1, 2.5 * share));
      }
      const recall = total ? model.confusion[p * k + p] / total : null;
      this.shares[p].textContent = recall === null ? "–" : percent(recall);
      this.bars[p].style.width = `${100 * (recall ?? 0)}%`;
    }
  }
}
