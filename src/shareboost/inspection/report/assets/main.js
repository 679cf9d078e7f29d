/** Puts the page together: one slider, and all that follows it. */

import { Confusion } from "./confusion.js";
import { Curve } from "./curve.js";
import { redrawAll } from "./drawing.js";
import { byId, bytes, count, counted, element, percent, short } from "./elements.js";
import { Features } from "./features.js";
import { Errors, Templates } from "./gallery.js";
import { Pad } from "./pad.js";
import { Report } from "./report.js";
import { Sharing } from "./sharing.js";

const report = new Report(JSON.parse(byId("report-data").textContent));
const slider = byId("slider");
const curve = new Curve(report, (index) => {
  slider.value = index;
  show(index);
});
const followers = [new Confusion(report), new Features(report), new Sharing(report)];
const pad =
  report.images?.strokes && globalThis.exportedModel
    ? new Pad(report, globalThis.exportedModel)
    : null;
if (report.images)
  followers.push(new Templates(report), new Errors(report, pad && ((row) => pad.explain(row))));

/** Show a model of the path everywhere. */
function show(index) {
  const model = report.model(index);
  const words = `${counted(model.nFeatures, "feature")}, ${percent(model.error)} error`;
  slider.setAttribute("aria-valuetext", words);
  byId("now").replaceChildren(
    element("strong", {}, counted(model.nFeatures, "feature")),
    " ",
    element("span", {}, `${percent(model.error)} error`),
  );
  curve.show(index);
  tell(model);
  for (const follower of followers) follower.show(model);
}

/** Fill the tiles with a model's figures. */
function tell(model) {
  const [low, high] = model.interval;
  const tiles = [
    ["Held-out error", percent(model.error), `${percent(low)} to ${percent(high)}`],
    ["Misclassified", count(model.wrong), `of ${counted(report.n_rows, "row")}`],
    model.trainError !== null && ["Training error", percent(model.trainError), ""],
    model.loss !== null && ["Training loss", short(model.loss), ""],
    model.price !== null && ["Price of features", short(model.price), ""],
    ["Inputs read", count(model.nInputs), `of ${count(report.n_inputs)}`],
    model.costs && ["Multiply-adds", count(model.costs.multiplyAdds), "a prediction, at most"],
    model.costs && ["Flash", bytes(model.costs.flash), "code and tables, as C"],
    model.costs && ["RAM", bytes(model.costs.ram), "stack, as C"],
  ];
  byId("tiles").replaceChildren(
    ...tiles
      .filter(Boolean)
      .map(([name, value, more]) =>
        element(
          "div",
          {},
          element("dt", {}, name),
          element(
            "dd",
            {},
            element("span", { class: "figure" }, value),
            element("span", { class: "more" }, more),
          ),
        ),
      ),
  );
}

function introduce() {
  const model = report.model(report.chosen);
  const out =
    report.n_candidates > model.nFeatures ? ` out of ${count(report.n_candidates)} candidates` : "";
  byId("lede").textContent =
    `${counted(model.nFeatures, "feature")}${out}, the same for all ${report.k} classes. ` +
    `Of ${counted(report.n_rows, "held-out row")}, ${count(model.wrong)} ` +
    `${model.wrong === 1 ? "is" : "are"} misclassified: ${percent(model.error)}.`;
  byId("chart-note").textContent =
    report.size > 1
      ? "Everything below follows the slider. Press on the curve to go to a number of features."
      : "The classifier was saved without its path, so that there is one model to show.";
  byId("contents").append(
    ...[...document.querySelectorAll("main > section:not([hidden])")].map((section) =>
      element("a", { href: `#${section.id}` }, section.dataset.nav),
    ),
  );
  const unknown = report.n_unknown
    ? ` Rows of labels that the model does not know, ${count(report.n_unknown)}, count as ` +
      "misclassified."
    : "";
  const trained = report.n_trained ? ` Trained on ${counted(report.n_trained, "row")}.` : "";
  byId("foot").append(
    element("p", {}, `Rounds ended: ${report.stop_reason}.${trained}${unknown}`),
    element("p", {}, element("code", {}, report.classifier)),
    element(
      "p",
      {},
      `Written by ${report.written_by}. This page is one file and loads nothing from anywhere.`,
    ),
  );
}

slider.max = report.size - 1;
slider.value = report.chosen;
slider.disabled = report.size < 2;
slider.addEventListener("input", () => show(Number(slider.value)));
for (const query of ["(prefers-color-scheme: dark)", "print"]) {
  window.matchMedia(query).addEventListener("change", redrawAll);
}
introduce();
show(report.chosen);
