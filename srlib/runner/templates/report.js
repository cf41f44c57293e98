// The current section is marked in the contents, which fold after a click.
const links = [...document.querySelectorAll("body > .contents a[href^='#']")];
const place = (link) => document.getElementById(decodeURIComponent(link.hash.slice(1)))?.getBoundingClientRect();
const mark = () => {
  const here = links.findLast((link) => place(link)?.top < 120);
  for (const link of links) link.ariaCurrent = link === here ? "true" : null;
};
addEventListener("scroll", mark, { passive: true });
for (const link of links) link.addEventListener("click", () => { link.closest("details").open = false; });

// A link to the heading of a folded part opens it.
const unfold = () => document.querySelectorAll("summary:has(:target)").forEach((folded) => {
  folded.parentElement.open = true;
  folded.scrollIntoView();
  mark();
});
addEventListener("hashchange", unfold);
addEventListener("load", unfold);

// One button shows or hides all code of the page.
for (const button of document.querySelectorAll("body > .contents > button")) button.onclick = () => {
  const code = [...document.querySelectorAll("details.code")];
  const open = code.some((part) => !part.open);
  for (const part of code) part.open = open;
};

// Parts wider than their box can be reached by keyboard.
const reach = () => document.querySelectorAll(".scroll").forEach((box) => { box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1; });
for (const event of ["load", "resize", "toggle"]) addEventListener(event, reach, true);
