// The page: its views, and what they share.

import { $ } from "./dom.js";
import { setKey } from "./api.js";
import { Candidates } from "./candidates.js";
import { Chat } from "./chat.js";
import { Completion } from "./completion.js";
import { Fleet } from "./fleet.js";
import { FleetLive } from "./fleet_live.js";
import { Model } from "./model.js";
import { decodeLink } from "./permalink.js";
import { Tabs } from "./tabs.js";
import { initTheme } from "./theme.js";

const EXAMPLE_SEED = "7", EXAMPLE_PARAMETERS = 50e6; // a model that is small enough to play alone

const model = new Model(showModel), why = new Candidates();
const completion = new Completion(model, why, askForKey);
const chat = new Chat(model, why, askForKey);
const views = { completion, chat };
let opened = null; // a promise
const live = new FleetLive();
const tabs = new Tabs((name) => {
  views[name]?.resume();
  live.show(name === "fleet");
});

function askForKey() {
  $("key-row").hidden = false;
  $("key").focus();
}

/** What the gateway serves gets known: chat comes first if it can chat, else an example plays. */
async function open() {
  await model.load();
  await chat.begin();
  showModel();
  const link = await linkOfAddress();
  if (link) offer(link);
  else if (model.canChat && !tabs.isChosen) tabs.show("chat");
  else if (isExampleWanted()) completion.example(EXAMPLE_SEED);
}

/** The views of the model that was taken. */
function showModel() {
  $("tab-chat").hidden = !model.canChat;
  chat.settings.setModel(model.info);
  if (!model.canChat && tabs.name === "chat") tabs.show("completion");
}

function isExampleWanted() {
  return model.info.parameters < EXAMPLE_PARAMETERS && !completion.run &&
    !matchMedia("(prefers-reduced-motion: reduce)").matches;
}

// Permalinks. A link fills the page, and its reader starts it: a page of another origin could open
// a link too, and shall not make this server work.

async function linkOfAddress() {
  try {
    return await decodeLink(location.hash);
  } catch (error) {
    refuse(error.message);
    return null;
  }
}

function refuse(why) {
  $("link-words").textContent = `This link cannot be read: ${why}.`;
  $("link-go").hidden = true;
  $("link").hidden = false;
}

function offer(link) {
  model.choose(link.model);
  if (link.kind === "chat" && !model.canChat) {
    refuse("its chat needs a chat template, which this model does not have");
    return;
  }
  tabs.show(link.kind);
  try {
    views[link.kind].open(link);
  } catch {
    refuse("its request is not one of this page");
    return;
  }
  $("link-words").textContent =
    `A link to an answer of ${link.n} tokens: ${link.model}, seed ${link.seed}.`;
  $("link-go").hidden = false;
  $("link-go").onclick = () => {
    $("link").hidden = true;
    views[link.kind].reproduce(link);
  };
  $("link").hidden = false;
  $("link-go").focus();
}

// Events

const fleet = new Fleet((workers) => model.setWorkers(workers), (error) => {
  if (error?.status === 401) $("key-row").hidden = false;
  if (!error) opened ??= open().catch(() => (opened = null)); // the next look tries again
}, (id) => live.past(id));
initTheme();
$("model").addEventListener("click", () => model.showCard());
$("link-close").addEventListener("click", () => ($("link").hidden = true));
$("key-row").addEventListener("submit", (event) => event.preventDefault());
$("key").addEventListener("input", () => setKey($("key").value));
$("key").addEventListener("change", () => fleet.refresh());
window.addEventListener("hashchange", async () => {
  const link = await linkOfAddress();
  if (link) offer(link);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") views[tabs.name]?.stop();
});
