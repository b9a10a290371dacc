/** Follows the deliveries of one webhook, or of all webhooks of a partner, as they change. */
import { useEffect, useRef, useState } from "preact/hooks";
import { addressOf } from "../../api/client.ts";
import { routes } from "../../api/routes.generated.ts";
import type { WebhookTarget } from "../webhook/webhook-client.ts";

/** The least milliseconds between two reads of the page, however many changes there are. */
const REFRESH_INTERVAL_MS = 1_000;
/** Milliseconds before a refused stream is requested again. Too low: a server that restarts gets more requests. */
const REOPEN_INTERVAL_MS = 5_000;
/** Pixels from the top within which a reader is assumed to watch new rows. */
const TOP_PX = 120;

interface LiveOptions {
  readonly target: WebhookTarget;
  readonly isOn: boolean;
  /** Whether rows are selected. The shown rows must then not change. */
  readonly hasSelection: boolean;
  readonly refresh: () => void;
}

/** The live updates of a list. */
interface Live {
  /** Whether there are changes that are not shown yet. */
  readonly isWaiting: boolean;
  /** Shows the changes that wait. */
  readonly showWaiting: () => void;
}

/**
 * Reads the list again when something has changed, unless the reader has scrolled down or selected rows. Then the shown rows
 * must not move.
 */
export function useLive({ target, isOn, hasSelection, refresh }: LiveOptions): Live {
  const [isWaiting, setWaiting] = useState(false);
  const latest = useRef({ hasSelection, refresh });
  latest.current = { hasSelection, refresh };
  const { system_id: systemId, partner_id: partnerId } = target.params;
  const { endpoint_id: endpointId } = target.query;
  useEffect(() => {
    if (!isOn) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = () => {
      timer = undefined;
      const mustWait = latest.current.hasSelection || scrollY > TOP_PX;
      setWaiting(mustWait);
      if (!mustWait) latest.current.refresh();
    };
    const changed = () => (timer ??= setTimeout(show, REFRESH_INTERVAL_MS));
    const address = addressOf(
      routes.live.partner,
      { system_id: systemId, partner_id: partnerId },
      { topic: "deliveries", ...(endpointId !== undefined && { endpoint_id: endpointId }) },
    );
    const stop = follow(address, changed);
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [isOn, systemId, partnerId, endpointId]);
  const showWaiting = () => {
    setWaiting(false);
    refresh();
  };
  // Shows the waiting changes as soon as no row is selected, if the reader is at the top of the list.
  useEffect(() => {
    if (!hasSelection && isWaiting && scrollY <= TOP_PX) showWaiting();
  }, [hasSelection]);
  return { isWaiting: isWaiting && isOn, showWaiting };
}

/**
 * Calls `changed` after each change that the stream at this address reports, and after each gap in which changes may have
 * been missed.
 * @returns a function that ends the stream
 */
export function follow(address: string, changed: () => void): () => void {
  let source: EventSource;
  let reopening: ReturnType<typeof setTimeout> | undefined;
  const open = () => {
    // The browser reconnects by itself, and sends the id of the last event.
    source = new EventSource(address);
    source.addEventListener("deliveries", changed);
    source.addEventListener("gap", changed);
    source.addEventListener("error", () => {
      // A response with an error status, such as a proxy's 503, ends the stream for good.
      if (source.readyState === EventSource.CLOSED) reopening = setTimeout(reopen, REOPEN_INTERVAL_MS);
    });
  };
  const reopen = () => {
    open();
    changed();
  };
  open();
  return () => {
    clearTimeout(reopening);
    source.close();
  };
}
