// What the browser keeps between visits, by table and key. Where storage is off, nothing is kept and nothing fails.

const NAME = "erukg";
const TABLES = ["texts", "corpus"];

let database = null;

function open() {
  database ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => TABLES.forEach((table) => request.result.createObjectStore(table));
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return database;
}

async function inTable(table, mode, action) {
  try {
    const transaction = (await open()).transaction(table, mode);
    const request = action(transaction.objectStore(table));
    return await new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
    });
  } catch {
    return undefined;
  }
}

export const load = (table, key) => inTable(table, "readonly", (store) => store.get(key));
export const loadAll = async (table) => (await inTable(table, "readonly", (store) => store.getAll())) ?? [];
export const save = (table, key, value) => inTable(table, "readwrite", (store) => store.put(value, key));
export const remove = (table, key) => inTable(table, "readwrite", (store) => store.delete(key));
export const clear = (table) => inTable(table, "readwrite", (store) => store.clear());

// What is being typed, until the tab is closed; written at once, so that a reload cannot come in between.
const DRAFT = "erukg-draft";

export function keepDraft(text) {
  try {
    if (text) sessionStorage.setItem(DRAFT, text);
    else sessionStorage.removeItem(DRAFT);
  } catch {
    // It stays in the field, then.
  }
}

export function keptDraft() {
  try {
    return sessionStorage.getItem(DRAFT) ?? "";
  } catch {
    return "";
  }
}
