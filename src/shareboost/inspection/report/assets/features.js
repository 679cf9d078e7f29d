/** The table of features, to be sorted and filtered. */

import { maskPicture, pictureCanvas, templatePicture } from "./drawing.js";
import { byId, counted, element, short } from "./elements.js";
import { voices } from "./report.js";

const MOST_NAMED = 8; // classes a cell

export class Features {
  /** @param {import("./report.js").Report} report */
  constructor(report) {
    this.report = report;
    this.sorted = { by: "round", falling: false };
    this.keys = {
      round: (row) => row.feature.round,
      name: (row) => row.feature.name,
      saved: (row) => row.feature.loss_saved ?? -Infinity,
      strength: (row) => row.strength,
    };
    const pictures = new Map((report.images?.templates ?? []).map((one) => [one.feature, one]));
    this.rows = report.features.map((feature, place) => this.row(feature, pictures.get(place)));
    this.buttons = new Map();
    this.body = element("tbody");
    byId("feature-table").append(
      element(
        "caption",
        { class: "unseen" },
        "The features of the model; buttons in the head sort them",
      ),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          this.heading("round", "Round", true),
          this.heading("name", "Feature"),
          this.heading("saved", "Loss saved", true),
          this.heading("strength", "Weight", true),
          element("th", { scope: "col" }, "Speaks for"),
          element("th", { scope: "col" }, "Speaks against"),
        ),
      ),
      this.body,
    );
    byId("filter-class").append(
      element("option", { value: "" }, "any class"),
      ...report.classes.map((name, q) => element("option", { value: q }, name)),
    );
    byId("filter-name").addEventListener("input", () => this.list());
    byId("filter-class").addEventListener("change", () => this.list());
    const several = report.features.some((feature) => feature.n_columns > 1);
    byId("features-note").textContent =
      "Loss saved is what the training loss fell by in the round that brought the feature in. " +
      "Weight is its largest weight for any class. It speaks for or against the classes whose " +
      "weights are at least half as large." +
      (several
        ? " A feature of several columns has no one direction: it is listed as speaking for the " +
          "classes it matters to."
        : "");
  }

  heading(by, text, isNumber = false) {
    const button = element("button", { type: "button" }, text);
    button.addEventListener("click", () => {
      const falling =
        this.sorted.by === by ? !this.sorted.falling : by === "saved" || by === "strength";
      this.sorted = { by, falling };
      this.list();
    });
    const heading = element("th", { scope: "col", class: isNumber ? "number" : undefined }, button);
    this.buttons.set(by, heading);
    return heading;
  }

  row(feature, template) {
    const name = element("span", { class: "entry" });
    if (template) {
      const { down, across } = this.report.images;
      name.append(
        element(
          "span",
          { class: "pictures" },
          pictureCanvas(templatePicture(template), "Template"),
          pictureCanvas(maskPicture(down[template.down], across[template.across]), "Mask"),
        ),
      );
    }
    name.append(element("span", {}, feature.name));
    const [strength, speaksFor, speaksAgainst] = [
      element("td", { class: "number" }),
      element("td"),
      element("td"),
    ];
    const line = element(
      "tr",
      {},
      element("td", { class: "number" }, feature.round),
      element("td", { class: "name" }, name),
      element("td", { class: "number" }, short(feature.loss_saved)),
      strength,
      speaksFor,
      speaksAgainst,
    );
    return { feature, line, cells: { strength, speaksFor, speaksAgainst }, strength: 0, heard: [] };
  }

  show(model) {
    const { k, classes, least_share: leastShare } = this.report;
    this.shown = model.features.map((place, i) => {
      const row = this.rows[place];
      const weights = model.weights.subarray(i * k, (i + 1) * k);
      const { speaksFor, speaksAgainst } = voices(weights, leastShare);
      row.strength = weights.reduce((most, w) => Math.max(most, Math.abs(w)), 0);
      row.heard = [...speaksFor, ...speaksAgainst];
      row.cells.strength.textContent = short(row.strength);
      row.cells.speaksFor.replaceChildren(...names(speaksFor, classes, "for"));
      row.cells.speaksAgainst.replaceChildren(...names(speaksAgainst, classes, "against"));
      return row;
    });
    this.list();
  }

  /** Put those rows into the table that pass the filters, in the order asked for. */
  list() {
    const text = byId("filter-name").value.trim().toLowerCase();
    const only = byId("filter-class").value;
    const rows = this.shown.filter(
      (row) =>
        row.feature.name.toLowerCase().includes(text) &&
        (only === "" || row.heard.includes(Number(only))),
    );
    const key = this.keys[this.sorted.by];
    const sign = this.sorted.falling ? -1 : 1;
    rows.sort((a, b) => sign * compared(key(a), key(b)) || a.feature.round - b.feature.round);
    this.body.replaceChildren(...rows.map((row) => row.line));
    for (const [by, heading] of this.buttons) {
      const order = this.sorted.falling ? "descending" : "ascending";
      heading.setAttribute("aria-sort", by === this.sorted.by ? order : "none");
    }
    const all = this.shown.length;
    byId("filter-count").textContent =
      rows.length === all
        ? counted(all, "feature")
        : `${rows.length} of ${counted(all, "feature")}`;
  }
}

function compared(a, b) {
  if (typeof a === "string") return a.localeCompare(b, "en", { numeric: true });
  return a === b ? 0 : a - b;
}

function names(places, classes, kind) {
  const shown = places
    .slice(0, MOST_NAMED)
    .map((q) => element("span", { class: `voice ${kind}` }, classes[q]));
  const more = places.length - shown.length;
  const parts = shown.flatMap((one, i) => (i ? [" ", one] : [one]));
  return more > 0 ? [...parts, ` and ${more} more`] : parts;
}
