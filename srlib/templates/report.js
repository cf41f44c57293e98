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
    () => figure.classList.add("drawn"),
    (error) => { target.remove(); console.error(error); },
  );
}
