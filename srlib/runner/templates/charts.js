// Each chart is drawn over its picture, and again when the theme changes; if that fails, the
// picture stays. A folded chart has no width and is drawn when it opens.
const system = matchMedia("(prefers-color-scheme: dark)");
const showIn = (part) => part.querySelectorAll(".chart > .vega-lite:not(details:not([open]) *)").forEach(show);
const showAll = () => showIn(document);
system.addEventListener("change", showAll);
new MutationObserver(showAll).observe(document.body, { attributeFilter: ["data-theme"] }); // readers may choose
addEventListener("toggle", ({ target }) => showIn(target), true);
showAll();

async function show(data) {
  const chart = data.parentElement, target = document.createElement("div");
  chart.replaceChildren(...chart.querySelectorAll(":scope > :is(img, .vega-lite)"), target);
  try {
    const { $schema, datasets, config, usermeta, ...spec } = JSON.parse(data.textContent);
    // The theme's colors replace the chart's. Nothing is evaluated, and a click leads to the web only.
    const settings = { config, ast: true, renderer: "svg", actions: false, mode: "vega-lite" };
    const dark = { light: false, dark: true }[document.body.dataset.theme] ?? system.matches;
    // In a grid the chart has no box, but its picture has.
    chart.classList.remove("drawn");
    const room = chart.clientWidth || chart.querySelector(":scope > img")?.clientWidth || 640;
    if (room < 500) settings.config = { ...config, legend: { ...config?.legend, columns: 2 } };
    const drawn = (by) => vegaEmbed(target,
      { ...narrower(structuredClone(spec), by, room < 500), datasets, config: dark ? DARK : {} }, settings);
    let { view } = await drawn(0);
    const excess = target.querySelector("svg.marks").getAttribute("width") - room;
    // In a narrower plot, labels beside points would overlap.
    if (excess > 0 && !usermeta?.scales) ({ view } = await drawn(excess));
    view.loader().sanitize = async (uri) => ({ href: /^(https?:|mailto:|data:image)/.test(uri) ? uri : "#" });
    chart.classList.add("drawn");
    const button = (textContent, onclick) => Object.assign(document.createElement("button"), { type: "button", textContent, onclick });
    target.querySelector(".vega-bindings")?.prepend(...Object.entries(usermeta?.presets ?? {}).map(([name, values]) =>
      button(name, () => Object.entries(values).reduce((seen, preset) => seen.signal(...preset), view).runAsync())));
    chart.append(button("Save picture", async () => {
      const file = { href: await view.toImageURL("svg"), download: "chart.svg" };
      Object.assign(document.createElement("a"), file).click();
    }));
    if (Object.keys(view.getState().signals).some((name) => name.endsWith("_legend"))) makeButtons(target);
  } catch (error) {
    target.remove();
    console.error(error);
  }
}

// Sliders stay with their chart. On a narrow page, parts are stacked, and those still too wide are
// drawn narrower, so that letters keep their size; the style sheet scales the rest.
function narrower(part, by, oneColumn) {
  for (const [key, inner] of Object.entries(part))
    if (Object(inner) === inner && !/^(data|mark|transform|value)$/.test(key)) narrower(inner, by, oneColumn);
  if ("input" in part) delete part.element;
  if (part.columns && oneColumn) part.columns = part.concat || part.facet ? 1 : Math.ceil(part.columns / 2);
  const width = Math.max(160, part.width - by);
  if (part.width > 160) Object.assign(part, part.height === part.width ? { width, height: width } : { width });
  return part;
}

// Clickable legend entries become buttons.
function makeButtons(target) {
  for (const label of target.querySelectorAll(".role-legend-label text")) {
    label.closest(".role-legend").setAttribute("role", "group");
    label.setAttribute("tabindex", "0");
    Object.assign(label, { role: "button", ariaLabel: label.textContent, ariaDescription: "shows only this; Escape shows all" });
    label.addEventListener("keydown", (event) => {
      if (!["Enter", " ", "Escape"].includes(event.key)) return;
      event.preventDefault();
      const on = event.key === "Escape" ? target.querySelector("path.background") : label;
      on.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    });
  }
}
