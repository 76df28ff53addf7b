// What the theme makes when a page is open: tables that can be scrolled by key, and buttons of code with a name.
let named = 0;

function improve() {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) table.tabIndex = 0;
  for (const buttons of document.querySelectorAll("nav.md-code__nav:not([aria-label])")) buttons.ariaLabel = `Code ${++named}`;
}

improve();
new MutationObserver(improve).observe(document.body, { childList: true, subtree: true });
