import { createRandom } from "@bikeshare/simulator";

const STATIONS = 1_800;
const BIKES = 26_000;
const HEADER =
  '"tripduration","starttime","stoptime","start station id","start station name","start station latitude","start station longitude","end station id","end station name","end station latitude","end station longitude","bikeid","usertype","birth year","gender"\n';

/** Yields the lines of a trip file in the old Citi Bike format, the same in every run. */
export function* tripLines(rows: number): Iterable<string> {
  const random = createRandom(1);
  const next = (below: number) => random.between(0, below - 1);
  const station = (id: number) =>
    `${3000 + id},"Station ${id} & Main St",${(40.6 + id / 10_000).toFixed(8)},${(-74.1 + id / 9_000).toFixed(8)}`;
  // A time as the format writes it, with four digits after the second.
  const wall = (ms: number) => `${new Date(ms).toISOString().slice(0, 23).replace("T", " ")}0`;
  yield HEADER;
  for (let row = 0; row < rows; row++) {
    const start = Date.UTC(2019, 4, 1) + Math.floor((row * 31 * 86_400_000) / rows) + next(1000);
    const length = 30_000 + next(3_600_000);
    yield `${Math.floor(length / 1000)},"${wall(start)}","${wall(start + length)}",${station(next(STATIONS))},${station(next(STATIONS))},${14_000 + next(BIKES)},"${next(5) === 0 ? "Customer" : "Subscriber"}",19${50 + next(50)},${next(3)}\n`;
  }
}
