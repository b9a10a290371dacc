/** What alerts to riders are about, in the words of GBFS. */
export const alertTypes = ["system_closure", "station_closure", "station_move", "other"] as const;
