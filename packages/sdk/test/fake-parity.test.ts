import { describeParity } from "./fake-parity.ts";
import { openListeningHarness } from "./fake.harness.ts";

// apps/server/test/sdk compares the service itself with the fake.
describeParity("the fake that listens", openListeningHarness);
