import { useEffect, useState } from "preact/hooks";

/** A part of a page in a separate module, which is loaded when the part is first shown. */
export interface LazyPart<Part> {
  loaded: Part | undefined;
  readonly load: () => Promise<Part>;
}

/** Describes a part, outside of components: its module is then loaded once for all places that show it. */
export function lazyPart<Part>(load: () => Promise<Part>): LazyPart<Part> {
  return { loaded: undefined, load };
}

/** Returns a part once its module is loaded; undefined until then. */
export function useLazy<Part>(part: LazyPart<Part>): Part | undefined {
  const [shown, setShown] = useState(() => part.loaded);
  const [failure, setFailure] = useState<Error>();
  useEffect(() => {
    if (shown !== undefined) return;
    part.load().then(
      (loaded) => {
        part.loaded = loaded;
        // Inside a function, because a part may be a component: `setShown` would call it instead of storing it.
        setShown(() => loaded);
      },
      (error: unknown) => setFailure(error instanceof Error ? error : new Error(String(error))),
    );
  }, []);
  // The error boundary of the page shows the failure and offers a retry.
  if (failure !== undefined) throw failure;
  return shown;
}
