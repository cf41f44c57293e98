// Each chart is drawn over its picture; where that fails, the picture stays.
for (const data of document.querySelectorAll("script.vega-lite")) {
  const figure = data.parentElement;
  const target = document.createElement("div");
  figure.append(target);
  vegaEmbed(target, JSON.parse(data.textContent), {
    ast: true, // expressions are interpreted: the page's policy forbids eval
    renderer: "svg",
    actions: { export: true, source: false, compiled: false, editor: false },
  }).then(
    ({ view }) => {
      figure.classList.add("drawn");
      target.querySelector("summary")?.setAttribute("aria-label", "Save the chart as a picture");
      pickable(target, view);
      reachable();
    },
    (error) => { target.remove(); console.error(error); },
  );
}

// Entries of a legend that can be clicked become buttons.
function pickable(target, view) {
  const bound = Object.keys(view.getState().signals).some((name) => name.endsWith("_legend"));
  if (!bound) return;
  const drawing = target.querySelector("svg.marks"); // a click beside the legend shows all
  for (const legend of target.querySelectorAll(".role-legend")) legend.setAttribute("role", "group");
  for (const label of target.querySelectorAll(".role-legend-label text")) {
    label.setAttribute("role", "button");
    label.setAttribute("aria-label", `Only ${label.textContent}; Escape shows all`);
    label.tabIndex = 0;
    label.addEventListener("keydown", (event) => {
      const chosen = event.key === "Enter" || event.key === " ";
      if (!chosen && event.key !== "Escape") return;
      event.preventDefault();
      (chosen ? label : drawing).dispatchEvent(new MouseEvent("click", { bubbles: true }));
    });
  }
}
