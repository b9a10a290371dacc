import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { Facts } from "../../components/facts.tsx";
import { Time } from "../../components/time.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { EventHistory, ReservationStatus } from "./fleet-history.tsx";
import { ItemPage } from "./item-page.tsx";
import { FleetLink } from "./ride-columns.tsx";

/** The operator's page of one reservation. */
export function ReservationPage() {
  return (
    <ItemPage
      noun="reservation"
      read={(call) => api.fleet.reservation(call)}
      show={(reservation, url, { systemId }) => (
        <>
          <PageHeader title="Reservation">
            <span class="mono">{reservation.id}</span>
          </PageHeader>
          <Facts
            facts={[
              ["Status", <ReservationStatus status={reservation.status} />],
              [
                "Partner",
                <Link href={url.link(`/operator/partners/${encodeURIComponent(reservation.partner_id)}`)}>
                  {reservation.partner_name}
                </Link>,
              ],
              ["Bike", <FleetLink of="bikes" id={reservation.bike_id} url={url} />],
              ["Station", <FleetLink of="stations" id={reservation.station_id} url={url} />],
              ["Ride", <FleetLink of="rides" id={reservation.ride_id} url={url} />],
              ["Created", <Time at={reservation.created_at} show="both" />],
              ["Ends", <Time at={reservation.expires_at} show="both" />],
              ["Cancelled", <Time at={reservation.cancelled_at} show="both" none="no" />],
              ["Cancelled by", reservation.cancel_reason?.replaceAll("_", " ")],
              ["Changed", <Time at={reservation.updated_at} show="both" />],
            ]}
          />
          <EventHistory systemId={systemId} url={url} of="reservation" id={reservation.id} />
        </>
      )}
    />
  );
}
