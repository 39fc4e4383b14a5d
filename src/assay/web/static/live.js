// Keeps a page fresh: listens to the stream that its <main> names and, when something has happened, fetches the page
// again and changes what is different in place, so that focus, selection, scrolling and typed text stay.
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
      say("");
      update(); // what happened before we listened
    };
    source.onerror = () => {
      say("The connection is lost. Trying again…");
      if (source.readyState !== EventSource.CLOSED) return; // else the browser does not try again by itself
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

  function say(text) {
    if (connection.textContent !== text) connection.textContent = text;
  }

  // However much happens, one fetch after the other, with a pause that grows with what a fetch costs.
  function update() {
    isStale = true;
    if (isFetching || fetching) return;
    fetching = setTimeout(fetchPage, Math.max(0, notBefore - performance.now()));
  }

  async function fetchPage() {
    fetching = 0;
    isFetching = true;
    isStale = false;
    const begun = performance.now();
    try {
      await renewPage();
      fetchPause = Math.min(Math.max(SHORTEST_PAUSE, 5 * (performance.now() - begun)), LONGEST_PAUSE);
    } catch {
      isStale = true;
      fetchPause = Math.min(2 * fetchPause, LONGEST_PAUSE);
    }
    notBefore = performance.now() + fetchPause;
    isFetching = false;
    if (isStale) update();
  }

  async function renewPage() {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(`${answer.status}`);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("main[data-stream]");
    if (!fresh) return location.reload(); // it leads elsewhere now, for example to signing in
    renew(main, fresh);
    document.title = page.title;
  }

  function renew(old, fresh) {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
    if (!(old instanceof Element)) {
      old.nodeValue = fresh.nodeValue;
      return;
    }
    renewAttributes(old, fresh);
    renewChildren(old, fresh);
  }

  function renewAttributes(old, fresh) {
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name); // what the reader has opened stays
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
  }

  // Elements with an id are the same if it is the same; others are the same if they stand in the same place.
  function renewChildren(old, fresh) {
    const known = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
    const wanted = new Set([...fresh.children].map((child) => child.id));
    let place = old.firstChild;
    for (const next of [...fresh.childNodes]) {
      while (place && place.id && !wanted.has(place.id)) place = removed(place);
      const same = next.id ? known.get(next.id) : place && !place.id ? place : null;
      if (!same) {
        old.insertBefore(next, place);
        continue;
      }
      if (same === place) place = place.nextSibling;
      else old.insertBefore(same, place);
      renew(same, next);
    }
    while (place) place = removed(place);
  }

  function removed(node) {
    const after = node.nextSibling;
    node.remove();
    return after;
  }

  // Browsers allow few connections to one host: a page that nobody sees needs none.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  if (!document.hidden) open();
})();
