// A page that has its answers is drawn before anything more is asked for: the machine is not busy
// with what is seen later.

/** Resolves once the first drawing can be seen, or at once if nothing waits for it. */
export let drawn: Promise<void> = Promise.resolve();

const longest = 250; // milliseconds: a tab in the background is not drawn

/** Draws the page for the first time. What asks for drawn meanwhile waits until it can be seen. */
export function drawFirst(draw: () => void): void {
  drawn = new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, longest);
  });
  draw();
}
