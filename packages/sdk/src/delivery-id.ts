/**
 * Returns the `delivery_id` of an event's delivery to an endpoint, in the service's format: without its last 6 characters it
 * contains the event's id, so that a receiver which catches up knows what was delivered.
 *
 * @param endpoint 6 characters that stand for the endpoint
 */
export function deliveryIdOf(eventId: string, endpoint: string): string {
  return `delivery_${eventId.slice(eventId.indexOf("_") + 1)}${endpoint}`;
}
