/** Follows a webhook's deliveries as they change. */
import { useEffect, useRef, useState } from "preact/hooks";
import { addressOf } from "../../api/client.ts";
import { routes } from "../../api/routes.generated.ts";
import type { WebhookTarget } from "../webhook/webhook-client.ts";

/** The least milliseconds between two reads of the page, however many changes there are. */
const REFRESH_INTERVAL_MS = 1_000;
/** Pixels from the top within which a reader is assumed to watch new rows. */
const TOP_PX = 120;

interface LiveOptions {
  readonly target: WebhookTarget;
  readonly isOn: boolean;
  /** Whether rows are selected. The shown rows must then not change. */
  readonly hasSelection: boolean;
  readonly refresh: () => void;
}

/**
 * Reads the list again when something has changed, unless the reader has scrolled down or selected rows. Then the shown rows
 * must not move.
 * @returns whether there are changes that are not shown yet
 */
export function useLive({ target, isOn, hasSelection, refresh }: LiveOptions): boolean {
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
    // The browser reconnects by itself, and sends the id of the last event.
    const source = new EventSource(address);
    source.addEventListener("deliveries", changed);
    // After a reconnection, some changes may have been missed.
    source.addEventListener("gap", changed);
    return () => {
      clearTimeout(timer);
      source.close();
    };
  }, [isOn, systemId, partnerId, endpointId]);
  // Shows the waiting changes as soon as no row is selected, if the reader is at the top of the list.
  useEffect(() => {
    if (!hasSelection && isWaiting && scrollY <= TOP_PX) {
      setWaiting(false);
      refresh();
    }
  }, [hasSelection]);
  return isWaiting;
}
