import type { Delivery } from "@bikeshare/webhooks";

/** Deliveries that wait to be worked on. */
export interface Inbox {
  /** insert into inbox (delivery_id, delivery) values ($1, $2) on conflict (delivery_id) do nothing */
  add(delivery: Delivery): Promise<void>;
}
