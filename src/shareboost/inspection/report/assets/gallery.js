/** Templates with their masks, and misclassified images. */

import { greyOf, maskPicture, pictureCanvas, templatePicture } from "./drawing.js";
import { byId, count, counted, element, percent } from "./elements.js";

const MOST_SHOWN = 120; // misclassified images at a time

export class Templates {
  /** @param {import("./report.js").Report} report - Of a model with images. */
  constructor(report) {
    const { images, features } = report;
    byId("templates").hidden = false;
    const channels =
      images.shape[2] > 1 ? ` Its ${images.shape[2]} channels are side by side.` : "";
    byId("templates-note").textContent =
      "Each feature is a template, matched wherever it fits best, and a mask, which says where in " +
      "the image a match counts. Numbers are rounds. The colour of ink is where a template wants " +
      `high values, that of paper where it wants low ones.${channels}`;
    this.tiles = new Map(
      images.templates.map((one) => {
        const { name, round } = features[one.feature];
        const mask = maskPicture(images.down[one.down], images.across[one.across]);
        return [
          one.feature,
          element(
            "li",
            { title: name },
            element(
              "span",
              { class: "pictures" },
              pictureCanvas(templatePicture(one), `Template of ${name}`),
              pictureCanvas(mask, `Mask of ${name}`),
            ),
            element("span", { class: "caption" }, round),
          ),
        ];
      }),
    );
  }

  show(model) {
    const tiles = model.features
      .filter((place) => this.tiles.has(place))
      .map((place) => this.tiles.get(place));
    byId("template-list").replaceChildren(...tiles);
  }
}

export class Errors {
  /**
   * @param {import("./report.js").Report} report - Of a model with images.
   * @param {((row: Float64Array) => void) | null} explain - Called with the pixels of a chosen one.
   */
  constructor(report, explain) {
    this.report = report;
    this.explain = explain;
    byId("errors").hidden = false;
    const { errors, pixels, shape, strokes } = report.images;
    const isDarkOnLight = strokes && strokes.ink < strokes.paper;
    const codes = report.errorPixels();
    const size = shape[0] * shape[1] * shape[2];
    const unit = (pixels.high - pixels.low) / 255;
    this.all = errors.map((error, i) => {
      const grey = greyOf(codes, i * size, shape);
      const values = isDarkOnLight ? grey.map((share) => 1 - share) : grey;
      const picture = { values, height: shape[0], width: shape[1] };
      const row = () =>
        Float64Array.from(
          codes.subarray(i * size, (i + 1) * size),
          (code) => pixels.low + unit * code,
        );
      return { error, picture, row, predicted: report.predictionsOf(error), tile: null };
    });
  }

  show(model) {
    const { classes } = this.report;
    const wrong = this.all.filter((one) => classes[one.predicted[model.index]] !== one.error.label);
    const shown = wrong.slice(0, MOST_SHOWN);
    byId("error-list").replaceChildren(
      ...shown.map((one) => this.tile(one, classes[one.predicted[model.index]])),
    );
    const some =
      shown.length < model.wrong
        ? `${count(shown.length)} of the ${count(model.wrong)} images`
        : counted(model.wrong, "image");
    const used = counted(model.nFeatures, "feature");
    byId("errors-note").textContent = model.wrong
      ? `${some} that the model of ${used} gets wrong (${percent(model.error)}): ` +
        "the label, then what it is taken for."
      : "No held-out image is misclassified.";
    if (model.wrong && this.explain) {
      const chosen = counted(this.report.model(this.report.chosen).nFeatures, "feature");
      byId("errors-note").append(
        element(
          "span",
          { class: "screen" },
          ` Press one to see, at the pad below, which templates decide in the model of ${chosen}` +
            `${model.index === this.report.chosen ? "." : ", which may take it for another class."}`,
        ),
      );
    }
  }

  tile(one, predicted) {
    const words = `Labelled ${one.error.label}, taken for ${predicted}`;
    one.tile ??= this.made(one);
    one.tile.text.replaceChildren(element("strong", {}, one.error.label), " → ", predicted);
    one.tile.picture.setAttribute("aria-label", words);
    return one.tile.item;
  }

  made(one) {
    const picture = pictureCanvas(one.picture, "");
    const text = element("span", { class: "caption" });
    const inner = this.explain
      ? element("button", { type: "button", class: "plain" }, picture, text)
      : element("span", {}, picture, text);
    if (this.explain) inner.addEventListener("click", () => this.explain(one.row()));
    return { picture, text, item: element("li", { title: `Row ${one.error.row}` }, inner) };
  }
}
