/**
 * Returns the `delivery_id` of an event's delivery to an endpoint, in the service's format: the event's id without its
 * prefix, then 6 characters for the endpoint. A receiver that reads missed events from the list can so recognise the events
 * that were delivered to it.
 *
 * @param endpoint 6 characters that identify the endpoint
 */
export function deliveryIdOf(eventId: string, endpoint: string): string {
  return `delivery_${eventId.slice(eventId.indexOf("_") + 1)}${endpoint}`;
}
