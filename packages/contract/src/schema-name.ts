/** What the schema that carries an event is called: `ride.completed` and `Event` give `RideCompletedEvent`. */
export function eventSchemaName(event: string, kind: "Event" | "Delivery"): string {
  const words = event.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${words.join("")}${kind}`;
}
