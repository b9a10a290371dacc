import { Gauge, type Registry } from "prom-client";

/** How many bikes a partner holds. */
export interface PartnerHolds {
  readonly systemId: string;
  readonly partnerId: string;
  readonly active: number;
  /** How many it may hold at once. */
  readonly limit: number;
}

/**
 * Adds the partners' active reservations to a registry, read at each look.
 * @param read few enough to be series of their own; what cannot be read is left out
 */
export function watchReservations(registry: Registry, read: () => Promise<readonly PartnerHolds[]>): void {
  const labelNames = ["system", "partner"] as const;
  let reading: Promise<readonly PartnerHolds[]> = Promise.resolve([]);
  new Gauge({
    name: "bikeshare_active_reservations",
    help: "Active reservations of a partner, of the partners with most.",
    labelNames,
    registers: [registry],
    async collect() {
      // The second gauge is collected together with this one.
      reading = read().catch(() => []);
      this.reset();
      for (const { systemId: system, partnerId: partner, active } of await reading) {
        this.set({ system, partner }, active);
      }
    },
  });
  new Gauge({
    name: "bikeshare_reservation_limit",
    help: "Active reservations that a partner may have at once, of the same partners.",
    labelNames,
    registers: [registry],
    async collect() {
      this.reset();
      for (const { systemId: system, partnerId: partner, limit } of await reading) {
        this.set({ system, partner }, limit);
      }
    },
  });
}
