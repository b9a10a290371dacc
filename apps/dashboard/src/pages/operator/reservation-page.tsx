import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { Facts } from "../../components/facts.tsx";
import { lookUp } from "../../components/look-up.ts";
import { Time } from "../../components/time.tsx";
import { ItemHeader, ItemPage } from "./item-page.tsx";
import { AsApi, type Moment, Timeline } from "./item-timeline.tsx";
import { bikeName, FleetLink, ReservationStatus } from "./ride-columns.tsx";

/** The operator's page of one reservation. */
export function ReservationPage() {
  return (
    <ItemPage
      noun="reservation"
      read={(call) => api.fleet.reservation(call)}
      show={({ reservation, names }, url, { systemId }) => {
        // `AsApi` prints `shown` as the API gives it to partners, so only the fields that partners do not get are taken
        // out. The operator does not get `rider_ref`, the partner's own reference for the rider.
        const { partner_id: partnerId, partner_name: partner, ...shown } = reservation;
        const { cancelled_at: cancelled } = shown;
        const moments: Moment[] = [
          { at: shown.created_at, event: "reservation.created", text: `Reserved by ${partner}` },
          ...(cancelled === null
            ? []
            : [{ at: cancelled, event: "reservation.cancelled", text: `Cancelled: ${words(shown.cancel_reason)}` }]),
        ];
        return (
          <>
            <ItemHeader
              title={`Reservation of ${bikeName(shown.bike_id, lookUp(names.bikes, shown.bike_id))}`}
              status={<ReservationStatus status={shown.status} />}
              id={shown.id}
            />
            <Facts
              facts={[
                [
                  "Partner",
                  <Link href={url.link(`/operator/partners/${encodeURIComponent(partnerId)}`)}>{partner}</Link>,
                ],
                ["Bike", <FleetLink of="bikes" id={shown.bike_id} names={names} url={url} />],
                ["Station", <FleetLink of="stations" id={shown.station_id} names={names} url={url} />],
                ["Ride", <FleetLink of="rides" id={shown.ride_id} url={url} />],
                ["Created", <Time at={shown.created_at} show="both" />],
                ["Ends", <Time at={shown.expires_at} show="both" />],
                ...(cancelled === null ? [] : [["Cancelled", <Time at={cancelled} show="both" />] as const]),
                ["Cancelled by", words(shown.cancel_reason)],
              ]}
            />
            <Timeline systemId={systemId} url={url} of="reservation" id={shown.id} moments={moments} />
            <AsApi value={shown} />
          </>
        );
      }}
    />
  );
}

function words(reason: string | null): string | null {
  return reason?.replaceAll("_", " ") ?? null;
}
