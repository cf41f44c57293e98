// Each chart is drawn over its picture, and again where the theme changes; where that fails, the
// picture stays. What is folded has no width and is drawn when it opens.
const system = matchMedia("(prefers-color-scheme: dark)");
// Where a page lets its reader choose, it says so.
const isDark = () => ({ light: false, dark: true })[document.body.dataset.theme] ?? system.matches;
const showIn = (part) => part.querySelectorAll(".vega-lite:not(details:not([open]) *)").forEach(show);
let dark;
function showAll() {
  if (dark !== (dark = isDark())) showIn(document);
}
system.addEventListener("change", showAll);
new MutationObserver(showAll).observe(document.body, { attributeFilter: ["data-theme"] });
addEventListener("toggle", ({ target }) => showIn(target), true);
showAll();

async function show(data) {
  const chart = data.parentElement;
  // Sliders stand below their chart, whatever part of the page it names for them.
  const spec = JSON.parse(data.textContent, function (key, value) {
    return key === "element" && "input" in this ? undefined : value;
  });
  const target = document.createElement("div");
  chart.replaceChildren(...chart.querySelectorAll(":scope > :is(img, .vega-lite)"), target);
  try {
    const view = await drawn(target, spec);
    chart.classList.add("drawn");
    pickable(target.querySelector("svg.marks"), view);
    const presets = Object.entries(spec.usermeta?.presets ?? {}).map(([name, values]) => button(name, () => {
      for (const [signal, value] of Object.entries(values)) view.signal(signal, value);
      view.runAsync();
    }));
    const sliders = target.querySelector(".vega-bindings");
    sliders?.setAttribute("aria-live", "polite"); // their values stand beside them
    sliders?.prepend(...presets);
    chart.append(button("Picture", async () => {
      const file = { href: await view.toImageURL("svg"), download: "chart.svg" };
      Object.assign(document.createElement("a"), file).click();
    }));
  } catch (error) {
    target.remove();
    console.error(error);
  }
}
function button(textContent, onclick) {
  return Object.assign(document.createElement("button"), { type: "button", textContent, onclick });
}

// Where a chart is wider than the page, its parts are set one below the other and drawn narrower,
// so that its letters keep their size. What is still too wide is scaled by the style sheet.
async function drawn(target, { $schema, datasets, config, usermeta, ...spec }) {
  // The theme's colors go over the chart's own. Nothing is evaluated, which the page's policy forbids.
  const settings = { config, ast: true, renderer: "svg", actions: false, mode: "vega-lite" };
  const draw = async (one) => (await vegaEmbed(target, { ...one, datasets, config: dark ? DARK : {} }, settings)).view;
  const excess = () => target.querySelector("svg.marks").getAttribute("width") - target.clientWidth;
  let view = await draw(spec);
  // Labels that stand beside points would cover each other in a narrower plot.
  if (!target.clientWidth || excess() <= 0 || usermeta?.scales) return view;
  view = await draw(narrower(spec, 0));
  return excess() > 0 ? draw(narrower(spec, excess())) : view;
}
function narrower(part, by) {
  if (Array.isArray(part)) return part.map((one) => narrower(one, by));
  if (!part || typeof part !== "object") return part;
  return Object.fromEntries(Object.entries(part).map(([key, value]) => {
    if (["data", "transform", "params", "mark"].includes(key)) return [key, value];
    if (key === "columns") return [key, part.concat || part.facet ? 1 : Math.ceil(value / 2)]; // or a legend's
    const shrinks = key === "width" || (key === "height" && value === part.width);
    if (shrinks && value > 160) return [key, Math.max(160, value - by)];
    return [key === "hconcat" ? "vconcat" : key, narrower(value, by)];
  }));
}

// Entries of a legend, or names beside lines, that can be clicked become buttons.
function pickable(drawing, view) {
  const bound = Object.keys(view.getState().signals).some((name) => name.endsWith("_legend"));
  const labels = [...drawing.querySelectorAll(
    `${bound ? ".role-legend-label text, " : ""}.mark-text[class*="labels_marks"] text`)];
  const press = (chosen) => labels.forEach((label) => { label.ariaPressed = String(label === chosen); });
  for (const label of labels) {
    // Vega names the mark and not what it says, and runs lines of a name together.
    const lines = [...label.querySelectorAll("tspan")].map((line) => line.textContent.trim());
    label.setAttribute("tabindex", "0");
    label.closest(".role-legend")?.setAttribute("role", "group");
    Object.assign(label, { role: "button", ariaPressed: "false", ariaLabel: lines.join(" ") || label.textContent,
      ariaDescription: "shows this alone; Escape shows all" });
    label.addEventListener("click", () => press(label.ariaPressed === "true" ? null : label));
    label.addEventListener("keydown", (event) => {
      if (!["Enter", " ", "Escape"].includes(event.key)) return;
      event.preventDefault();
      if (event.key === "Escape") press(null); // and a click beside the labels shows all
      const on = event.key === "Escape" ? drawing.querySelector("path.background") ?? drawing : label;
      on.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    });
  }
}
