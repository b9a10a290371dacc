import { describeParity } from "./fake-parity.ts";
import { openListeningRoom } from "./fake-room.ts";

// The service itself is held against the fake where the service is: apps/server/test/sdk.
describeParity("the fake that listens", openListeningRoom);
