import { serviceError } from "@bikeshare/rules";
import type { CursorCipher } from "../http/cursor.ts";
import type { LogPosition } from "../request-log/service.ts";

/**
 * The position in a log by day that a cursor stands for.
 * @throws ServiceError `invalid_cursor` when it is damaged, or was made for another list
 */
export function readPosition(cipher: CursorCipher, scope: string, cursor: string): LogPosition {
  const text = cipher.decrypt(scope, cursor);
  const [day, id] = text === undefined ? [] : (JSON.parse(text) as [string, string]); // it is ours, unchanged
  if (day === undefined || id === undefined) throw serviceError("invalid_cursor", "foreign");
  return { day, id };
}
