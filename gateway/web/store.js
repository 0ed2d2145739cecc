// Chats in the browser's own database: nothing leaves this host.
//
// The steps that explain an answer are kept beside the chats, since they are much larger and only
// the chat that is open needs them. Where the browser keeps no database, chats last as long as the
// page.

const NAME = "baton", VERSION = 1;

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

export class Store {
  db = null;

  async open() {
    try {
      const request = indexedDB.open(NAME, VERSION);
      request.onupgradeneeded = () => {
        request.result.createObjectStore("chats", { keyPath: "id" });
        request.result.createObjectStore("steps"); // pieces of an answer by its node's id
      };
      this.db = await done(request);
    } catch {
      this.db = null;
    }
  }

  get isKept() {
    return this.db !== null;
  }

  table(name, mode = "readonly") {
    return this.db.transaction(name, mode).objectStore(name);
  }

  /** All chats, the last used first. */
  async chats() {
    const all = this.db ? await done(this.table("chats").getAll()) : [];
    return all.sort((a, b) => b.updated - a.updated);
  }

  async save(chat) {
    if (this.db) await done(this.table("chats", "readwrite").put(chat));
  }

  async savePieces(nodeId, pieces) {
    if (this.db) await done(this.table("steps", "readwrite").put(pieces, nodeId));
  }

  async pieces(nodeId) {
    return (this.db ? await done(this.table("steps").get(nodeId)) : null) ?? [];
  }

  async remove(chat) {
    if (!this.db) return;
    await done(this.table("chats", "readwrite").delete(chat.id));
    const steps = this.table("steps", "readwrite");
    await Promise.all(Object.keys(chat.nodes).map((id) => done(steps.delete(id))));
  }
}
