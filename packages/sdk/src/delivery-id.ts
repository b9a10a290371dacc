/**
 * The `delivery_id` under which an endpoint is told of an event of the list. As at the service: whoever leaves out the last
 * 6 characters finds the event's id in it, and so knows when catching up what has been delivered.
 *
 * @param endpoint 6 characters that stand for the endpoint
 */
export function deliveryIdOf(eventId: string, endpoint: string): string {
  return `delivery_${eventId.slice(eventId.indexOf("_") + 1)}${endpoint}`;
}
