import type { FleetReservation } from "@bikeshare/contract/console";
import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

/** As of the instant $2, the same before and after the sweeper has written that it expired. */
const select = (condition: string) => `
  select reservation_json(r.id, case when overdue then 'expired' else r.status end, r.station_id, r.bike_id,
      r.vehicle_type_id, null, r.created_at, r.expires_at, r.cancelled_at, r.cancel_reason, r.ride_id, r.ride_cancelled_at,
      case when overdue then r.expires_at else r.updated_at end)::jsonb - 'rider_ref'
    || jsonb_build_object('partner_id', r.partner_id, 'partner_name', partners.name) as reservation
  from (select *, (status = 'active' and expires_at <= $2::timestamptz) as overdue from reservations
        where system_id = $1 and ${condition} order by created_at desc, id desc limit 20) as r
  join partners on partners.system_id = $1 and partners.id = r.partner_id
  order by r.created_at desc, r.id desc`;

const statements = {
  id: statement("reservations.ofAnyPartner", select("id = $3")),
  bike_id: statement("reservations.ofBike", select("bike_id = $3")),
  ride_id: statement("reservations.ofRide", select("ride_id = $3")),
};

/** The reservation with an id, or the newest of a bike or a ride, whichever partner's. */
export async function listReservationsBy(
  db: Queryable,
  by: keyof typeof statements,
  { systemId, id, now }: { readonly systemId: string; readonly id: string; readonly now: Date },
): Promise<FleetReservation[]> {
  const rows = await db.query<{ reservation: FleetReservation }>(statements[by], [systemId, now, id]);
  return rows.map(({ reservation }) => reservation);
}
