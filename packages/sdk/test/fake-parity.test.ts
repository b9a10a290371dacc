import { describeParity } from "./fake-parity.ts";
import { openListeningHarness } from "./fake.harness.ts";

// The service itself is held against the fake where the service is: apps/server/test/sdk.
describeParity("the fake that listens", openListeningHarness);
