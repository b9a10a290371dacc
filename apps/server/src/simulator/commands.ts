import type {
  BatchResult,
  BikeReport,
  BikeUpsert,
  RideCancel,
  RideEnd,
  RideStart,
  StationCommand,
  StationUpsert,
} from "@bikeshare/contract";

/** What the operator's interface takes, by path under /operator/v1. */
interface Items {
  readonly stations: StationUpsert;
  readonly "stations/offline": StationCommand;
  readonly "stations/online": StationCommand;
  readonly bikes: BikeUpsert;
  readonly "bikes/reports": BikeReport;
  readonly "rides/start": RideStart;
  readonly "rides/end": RideEnd;
  readonly "rides/cancel": RideCancel;
}

/** Something that the operator's backend tells the service. */
export type Command = {
  readonly [Path in keyof Items]: {
    readonly path: Path;
    readonly item: Items[Path];
    /** The bike or station that it is about: what is told of one thing arrives in the order in which it was said. */
    readonly about: string;
  };
}[keyof Items];

/** Hears what became of each command. */
export type OnAnswer = (command: Command, result: BatchResult) => void;
