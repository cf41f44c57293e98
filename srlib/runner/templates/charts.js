// Each chart is drawn over its picture, and again where the theme changes; where that fails, the
// picture stays.
const theme = matchMedia("(prefers-color-scheme: dark)");
function show(data) {
  const chart = data.parentElement;
  const spec = JSON.parse(data.textContent);
  const target = document.createElement("div");
  for (const old of chart.querySelectorAll(":scope > :not(img, script)")) old.remove();
  chart.closest("figure")?.querySelector(":scope > .downloads")?.remove();
  chart.append(target);
  drawn(target, theme.matches ? { ...spec, config: over(spec.config, DARK) } : spec).then(
    (view) => {
      chart.classList.add("drawn");
      pickable(target, view);
      told(chart, target, view);
      presets(target, view, spec.usermeta?.presets ?? {});
      downloads(chart, spec, view);
    },
    (error) => { target.remove(); console.error(error); },
  );
}
const showAll = () => document.querySelectorAll("script.vega-lite").forEach(show);
theme.addEventListener("change", showAll);
showAll();

// Where a chart is wider than the page, its parts are set one below the other and drawn narrower,
// so that its letters keep their size. What is still too wide is scaled by the style sheet.
async function drawn(target, spec) {
  const draw = async (one) => (await vegaEmbed(target, one, {
    ast: true, // expressions are interpreted: the page's policy forbids eval
    renderer: "svg",
    actions: false,
  })).view;
  const excess = () => target.querySelector("svg.marks").getAttribute("width") - target.clientWidth;
  let view = await draw(spec);
  // Labels that stand beside points would cover each other in a narrower plot.
  if (target.clientWidth < 1 || excess() <= 0 || spec.usermeta?.scales) return view;
  const stacked = narrower(spec, 0);
  view = await draw(stacked);
  return excess() > 0 ? draw(narrower(stacked, excess())) : view;
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

// A few words for values of the sliders.
function presets(target, view, all) {
  const form = target.querySelector(".vega-bindings");
  if (!form || !Object.keys(all).length) return;
  const row = document.createElement("div");
  row.className = "downloads";
  for (const [name, values] of Object.entries(all)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.addEventListener("click", async () => {
      for (const [signal, value] of Object.entries(values)) view.signal(signal, value);
      await view.runAsync();
      form.dispatchEvent(new Event("input"));
    });
    row.append(button);
  }
  form.prepend(row);
}

// Entries of a legend, or names beside lines, that can be clicked become buttons.
function pickable(target, view) {
  const bound = Object.keys(view.getState().signals).some((name) => name.endsWith("_legend"));
  const labels = [...target.querySelectorAll(
    `${bound ? ".role-legend-label text, " : ""}.mark-text[class*="labels_marks"] text`)];
  if (!labels.length) return;
  const drawing = target.querySelector("svg.marks");
  const ground = drawing.querySelector("path.background") ?? drawing; // a click beside them shows all
  for (const legend of target.querySelectorAll(".role-legend")) legend.setAttribute("role", "group");
  const pressed = (chosen) => {
    for (const label of labels) label.setAttribute("aria-pressed", String(label === chosen));
  };
  pressed(null);
  drawing.addEventListener("click", (event) => {
    pressed(labels.find((label) => label.contains(event.target) && label.getAttribute("aria-pressed") !== "true"));
  });
  for (const label of labels) {
    // Vega names the mark and not what it says, and runs lines of a name together.
    const lines = [...label.querySelectorAll("tspan")];
    for (const line of lines.slice(0, -1)) line.textContent = `${line.textContent.trimEnd()} `;
    label.setAttribute("aria-label", label.textContent);
    label.setAttribute("role", "button");
    label.setAttribute("aria-description", "shows this alone; Escape shows all");
    label.tabIndex = 0;
    label.addEventListener("keydown", (event) => {
      const chosen = event.key === "Enter" || event.key === " ";
      if (!chosen && event.key !== "Escape") return;
      event.preventDefault();
      (chosen ? label : ground).dispatchEvent(new MouseEvent("click", { bubbles: true }));
    });
  }
}

// What a slider changes is said to those who cannot see it: its sentences in the chart, if there
// are any, and where the sliders stand.
function told(chart, target, view) {
  const form = target.querySelector(".vega-bindings");
  if (!form?.querySelector("input, select")) return;
  const live = document.createElement("p");
  live.className = "hidden";
  live.setAttribute("aria-live", "polite");
  chart.append(live);
  let waiting;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      await view.runAsync();
      const at = [...form.querySelectorAll(".vega-bind")].map((bind) =>
        `${bind.querySelector(".vega-bind-name").textContent.trim()} ${bind.querySelector("input, select").value}`);
      const sentences = [...target.querySelectorAll(".mark-text.role-mark text")]
        .map((text) => text.textContent).filter((text) => text.split(" ").length > 4);
      live.textContent = [...sentences, ...at].join("; ");
      target.querySelector("svg.marks").setAttribute("aria-label", live.textContent);
    }, 400);
  });
}

// The chart as a picture, and its numbers as a table.
function downloads(chart, spec, view) {
  const name = chart.closest("figure")?.id || "chart";
  const row = document.createElement("div");
  row.className = "downloads";
  const button = (text, file, made) => {
    const one = document.createElement("button");
    one.type = "button";
    one.textContent = text;
    one.setAttribute("aria-label", `${text} of ${name.replace("-", " ")} as a file`);
    one.addEventListener("click", async () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await made());
      link.download = file;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
    row.append(one);
  };
  button("Picture", `${name}.svg`, async () => new Blob([await view.toSVG()], { type: "image/svg+xml" }));
  button("Data", `${name}.csv`, () => new Blob([table(spec)], { type: "text/csv" }));
  const figure = chart.closest("figure");
  (figure && figure.querySelectorAll(".chart").length === 1 ? figure : chart).append(row);
}

// All rows of a specification's data sets, under the names of all their columns.
function table(spec) {
  const rows = [];
  (function collect(part) {
    if (Array.isArray(part)) part.forEach(collect);
    else if (part && typeof part === "object") {
      if (Array.isArray(part.values) && typeof part.values[0] === "object") rows.push(...part.values);
      Object.entries(part).forEach(([key, inner]) => {
        if (key === "datasets") Object.values(inner).forEach((values) => rows.push(...values));
        else if (key !== "values") collect(inner);
      });
    }
  })(spec);
  const columns = [...new Set(rows.flatMap(Object.keys))];
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows.map((row) => columns.map((column) => row[column]))]
    .map((line) => line.map(cell).join(",")).join("\n") + "\n";
}
