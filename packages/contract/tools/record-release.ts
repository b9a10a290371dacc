/* Makes the present contract the one that the next is compared with. Run for each release. */
import { writeReleased } from "./released.ts";

writeReleased();
