// The page's views as tabs: arrow keys move between them, one panel shows at a time.

import { $ } from "./dom.js";

export class Tabs {
  /** onShow(name) is called whenever a view comes into sight. */
  constructor(onShow) {
    this.onShow = onShow;
    this.isChosen = false; // by the reader, rather than by the page
    this.tabs = [...document.querySelectorAll("#tabs [role=tab]")];
    for (const tab of this.tabs) tab.addEventListener("click", () => this.choose(tab));
    $("tabs").addEventListener("keydown", (event) => this.key(event));
  }

  get name() {
    return this.tabs.find((tab) => tab.ariaSelected === "true").dataset.tab;
  }

  choose(tab) {
    this.isChosen = true;
    this.show(tab.dataset.tab);
    tab.focus();
  }

  show(name) {
    for (const tab of this.tabs) {
      const isShown = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
      $(`panel-${tab.dataset.tab}`).hidden = !isShown;
    }
    $("main").dataset.tab = name;
    this.onShow(name);
  }

  key(event) {
    const shown = this.tabs.filter((tab) => !tab.hidden), at = shown.indexOf(event.target);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: shown.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    this.choose(shown[(to + shown.length) % shown.length]);
  }
}
