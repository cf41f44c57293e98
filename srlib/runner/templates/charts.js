// Each chart is drawn over its picture, and again where the theme changes; where that fails, the
// picture stays.
const theme = matchMedia("(prefers-color-scheme: dark)");
const chosen = () => document.body.dataset.theme; // where a page lets its reader choose
const dark = () => chosen() === "dark" || (chosen() !== "light" && theme.matches);
async function show(data) {
  const chart = data.parentElement;
  const spec = JSON.parse(data.textContent);
  const target = document.createElement("div");
  for (const old of chart.querySelectorAll(":scope > :not(img, .vega-lite)")) old.remove();
  chart.append(target);
  try {
    const view = await drawn(target, ground ? { ...spec, config: over(spec.config, DARK) } : spec);
    chart.classList.add("drawn");
    pickable(target, view);
    sliders(target, view, spec.usermeta?.presets ?? {});
    chart.append(button("Picture", "the chart as a file", async () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([await view.toSVG()], { type: "image/svg+xml" }));
      link.download = "chart.svg";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }));
  } catch (error) {
    target.remove();
    console.error(error);
  }
}
// What is folded has no width and is drawn when it opens.
let ground;
const showIn = (part) => part.querySelectorAll(".vega-lite:not(details:not([open]) *)").forEach(show);
function showAll() {
  if (ground !== (ground = dark())) showIn(document);
}
theme.addEventListener("change", showAll);
new MutationObserver(showAll).observe(document.body, { attributeFilter: ["data-theme"] });
addEventListener("toggle", ({ target }) => showIn(target), true);
showAll();

function button(text, about, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  if (about) made.setAttribute("aria-label", `${text} of ${about}`);
  made.addEventListener("click", act);
  return made;
}

// Where a chart is wider than the page, its parts are set one below the other and drawn narrower,
// so that its letters keep their size. What is still too wide is scaled by the style sheet.
async function drawn(target, spec) {
  const settings = { ast: true, renderer: "svg", actions: false, mode: "vega-lite" }; // the page's policy forbids eval
  // Without the name of Vega-Lite 5, which JupyterLab draws: the page has the next, and says so of each chart.
  const draw = async (one) => (await vegaEmbed(target, { ...one, $schema: undefined }, settings)).view;
  const excess = () => target.querySelector("svg.marks").getAttribute("width") - target.clientWidth;
  let view = await draw(spec);
  // Labels that stand beside points would cover each other in a narrower plot.
  if (target.clientWidth < 1 || excess() <= 0 || spec.usermeta?.scales) return view;
  view = await draw(narrower(spec, 0));
  return excess() > 0 ? draw(narrower(spec, excess())) : view;
}

function narrower(part, by) {
  if (Array.isArray(part)) return part.map((one) => narrower(one, by));
  if (!part || typeof part !== "object") return part;
  const made = {};
  for (const [key, value] of Object.entries(part)) {
    if (["data", "datasets", "transform", "params", "mark"].includes(key)) made[key] = value;
    else if (key === "width" && value > 160) made.width = Math.max(160, value - by);
    else if (key === "height" && value === part.width) made.height = Math.max(160, value - by);
    else if (key === "columns") made.columns = part.concat || part.facet ? 1 : Math.ceil(value / 2); // or a legend's
    else made[key === "hconcat" ? "vconcat" : key] = narrower(value, by);
  }
  return made;
}

// The colors of a theme over those of a chart.
function over(config = {}, colors) {
  const made = { ...config };
  for (const [key, value] of Object.entries(colors)) {
    made[key] = value && typeof value === "object" ? over(config[key], value) : value;
  }
  return made;
}

// Entries of a legend, or names beside lines, that can be clicked become buttons.
function pickable(target, view) {
  const drawing = target.querySelector("svg.marks");
  const bound = Object.keys(view.getState().signals).some((name) => name.endsWith("_legend"));
  const labels = [...drawing.querySelectorAll(
    `${bound ? ".role-legend-label text, " : ""}.mark-text[class*="labels_marks"] text`)];
  const press = (chosen) => labels.forEach((label) => label.setAttribute("aria-pressed", String(label === chosen)));
  for (const label of labels) {
    // Vega names the mark and not what it says, and runs lines of a name together.
    const lines = [...label.querySelectorAll("tspan")].map((line) => line.textContent.trim());
    const about = { role: "button", tabindex: "0", "aria-pressed": "false",
      "aria-label": lines.length ? lines.join(" ") : label.textContent,
      "aria-description": "shows this alone; Escape shows all" };
    for (const [name, value] of Object.entries(about)) label.setAttribute(name, value);
    label.closest(".role-legend")?.setAttribute("role", "group");
    label.addEventListener("click", () => press(label.getAttribute("aria-pressed") === "true" ? null : label));
    label.addEventListener("keydown", (event) => {
      if (!["Enter", " ", "Escape"].includes(event.key)) return;
      event.preventDefault();
      if (event.key === "Escape") press(null); // and a click beside the labels shows all
      const on = event.key === "Escape" ? drawing.querySelector("path.background") ?? drawing : label;
      on.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    });
  }
}

// A few words for values of the sliders; where they stand is said to those who cannot see it.
function sliders(target, view, presets) {
  const form = target.querySelector(".vega-bindings");
  if (!form) return;
  const live = document.createElement("p");
  live.className = "hidden";
  live.setAttribute("aria-live", "polite");
  target.append(live);
  const tell = () => {
    live.textContent = [...form.querySelectorAll(".vega-bind")].map((bind) =>
      `${bind.querySelector(".vega-bind-name").textContent.trim()} ${bind.querySelector("input, select")?.value}`).join("; ");
  };
  form.addEventListener("change", tell);
  const row = document.createElement("div");
  row.className = "presets";
  row.append(...Object.entries(presets).map(([name, values]) => button(name, "", async () => {
    for (const [signal, value] of Object.entries(values)) view.signal(signal, value);
    await view.runAsync();
    tell();
  })));
  form.prepend(row);
}
