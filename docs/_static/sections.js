// Sections of reports are pages of the search's index, named page#section.
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Scorer === "undefined") return; // not the page of the search
  Scorer.score = (found) => {
    const [page, section] = found[0].split("#");
    if (section) [found[0], found[2], found[3]] = [page, `#${section}`, page];
    return found[4];
  };
});
