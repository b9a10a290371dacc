import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { Table } from "../../components/table.tsx";
import type { UrlState } from "../../layout/url-state.ts";
import { reservationColumns } from "./ride-columns.tsx";

interface ReservationsProps {
  readonly systemId: string;
  readonly url: UrlState;
  readonly bikeId: string;
}

/** Most reservations that the page of a bike shows. The list of reservations has all. */
const LATEST_RESERVATIONS = 10;

/** The newest reservations of a bike. */
export function Reservations({ systemId, url, bikeId }: ReservationsProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ["fleet", "reservations", systemId, bikeId],
    queryFn: ({ signal }) =>
      api.fleet.reservations({
        params: { system_id: systemId },
        query: { bike_id: bikeId, limit: LATEST_RESERVATIONS },
        signal,
      }),
  });
  return (
    <section class="stack">
      <h2>Latest reservations</h2>
      <Table
        caption="Latest reservations"
        columns={reservationColumns(url, data?.names ?? { stations: {}, bikes: {} })}
        rows={data?.data}
        rowKey={({ id }) => id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title="No reservations" />}
      />
    </section>
  );
}
