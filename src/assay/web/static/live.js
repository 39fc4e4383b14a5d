// Live updates: subscribes to the event stream named by <main data-stream>. On each event, fetches the page again and
// patches the differences in place, so that focus, selection, scroll position and typed text are preserved.
"use strict";

(() => {
  const EVENTS = ["submission_created", "state_changed", "scan_complete", "submissions_created", "gone"];
  const SHORTEST_PAUSE = 1000, LONGEST_PAUSE = 30000;
  const main = document.querySelector("main[data-stream]");
  const connection = document.getElementById("connection");
  let source = null, reopening = 0, openPause = SHORTEST_PAUSE;
  let fetching = 0, isFetching = false, isStale = false, fetchPause = SHORTEST_PAUSE, notBefore = 0;

  function open() {
    close();
    source = new EventSource(main.dataset.stream);
    source.onopen = () => {
      openPause = SHORTEST_PAUSE;
      showStatus("");
      update(); // catch up with events from before the connection
    };
    source.onerror = () => {
      showStatus("Connection lost. Reconnecting…");
      if (source.readyState !== EventSource.CLOSED) return; // the browser reconnects by itself
      reopening = setTimeout(open, openPause);
      openPause = Math.min(openPause * 2, LONGEST_PAUSE);
    };
    for (const name of EVENTS) source.addEventListener(name, update);
  }

  function close() {
    clearTimeout(reopening);
    if (source) source.close();
    source = null;
  }

  function showStatus(text) {
    if (connection.textContent !== text) connection.textContent = text;
  }

  // Coalesce events: one fetch at a time, with a pause that grows with the duration of a fetch.
  function update() {
    isStale = true;
    if (isFetching || fetching) return;
    fetching = setTimeout(fetchPage, Math.max(0, notBefore - performance.now()));
  }

  async function fetchPage() {
    fetching = 0;
    isFetching = true;
    isStale = false;
    const startedAt = performance.now();
    try {
      await patchPage();
      fetchPause = Math.min(Math.max(SHORTEST_PAUSE, 5 * (performance.now() - startedAt)), LONGEST_PAUSE);
    } catch {
      isStale = true;
      fetchPause = Math.min(2 * fetchPause, LONGEST_PAUSE);
    }
    notBefore = performance.now() + fetchPause;
    isFetching = false;
    if (isStale) update();
  }

  async function patchPage() {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok) throw new Error(`${response.status}`);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.querySelector("main[data-stream]");
    if (!fresh) return location.reload(); // the response is another page, for example the sign-in page
    patch(main, fresh);
    document.title = page.title;
  }

  function patch(old, fresh) {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
    if (!(old instanceof Element)) {
      old.nodeValue = fresh.nodeValue;
      return;
    }
    patchAttributes(old, fresh);
    patchChildren(old, fresh);
  }

  function patchAttributes(old, fresh) {
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name); // keep <details> that the reader has opened
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
  }

  // Match elements with an id by id, and all other nodes by position.
  function patchChildren(old, fresh) {
    const known = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
    const freshIds = new Set([...fresh.children].map((child) => child.id));
    let cursor = old.firstChild;
    for (const next of [...fresh.childNodes]) {
      while (cursor && cursor.id && !freshIds.has(cursor.id)) cursor = removeAndAdvance(cursor);
      const same = next.id ? known.get(next.id) : cursor && !cursor.id ? cursor : null;
      if (!same) {
        old.insertBefore(next, cursor);
        continue;
      }
      if (same === cursor) cursor = cursor.nextSibling;
      else old.insertBefore(same, cursor);
      patch(same, next);
    }
    while (cursor) cursor = removeAndAdvance(cursor);
  }

  function removeAndAdvance(node) {
    const next = node.nextSibling;
    node.remove();
    return next;
  }

  // Browsers limit the connections per host, so hidden pages close theirs.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  if (!document.hidden) open();
})();
