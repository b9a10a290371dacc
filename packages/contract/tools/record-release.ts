/* Records the present contract as released: later contracts are compared with it. Run this for each release. */
import { writeReleased } from "./released.ts";

writeReleased();
