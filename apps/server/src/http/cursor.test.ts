import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCursorCipher } from "./cursor.ts";

const key = (id: number) => ({ id, key: new Uint8Array(32).fill(id) });
const text = fc.string({ unit: "grapheme", maxLength: 100 });

describe("an encrypted cursor", () => {
  const cipher = createCursorCipher([key(1)]);

  it("decrypts to the position it was made of, and is safe in a URL", () => {
    fc.assert(
      fc.property(text, text, (list, position) => {
        const cursor = cipher.encrypt(list, position);
        expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(cipher.decrypt(list, cursor)).toBe(position);
      }),
    );
  });

  it("is the same for the same position, so that a page keeps its ETag", () => {
    expect(cipher.encrypt("list", "position")).toBe(cipher.encrypt("list", "position"));
  });

  it("decrypts for its own list alone", () => {
    fc.assert(
      fc.property(text, text, text, (list, other, position) => {
        fc.pre(list !== other);
        expect(cipher.decrypt(other, cipher.encrypt(list, position))).toBeUndefined();
      }),
    );
  });

  it("does not decrypt when any character is changed, lost or added", () => {
    const cursor = cipher.encrypt("list", "2026-01-01T00:00:00.000Z ride-1");
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/ ";
    for (let index = 0; index < cursor.length; index++) {
      const [before, after] = [cursor.slice(0, index), cursor.slice(index + 1)];
      expect(cipher.decrypt("list", before + after)).toBeUndefined();
      for (const character of alphabet) {
        expect(cipher.decrypt("list", before + character + cursor.slice(index))).toBeUndefined();
        if (character !== cursor[index]) expect(cipher.decrypt("list", before + character + after)).toBeUndefined();
      }
    }
  });

  it("is never made of anything a caller invents", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          fc.base64String().map((value) => value.replaceAll("=", "")),
        ),
        (invented) => cipher.decrypt("list", invented) === undefined,
      ),
    );
  });

  it("never shares its tag with another position or list, wherever the line between the two is drawn", () => {
    const tag = (cursor: string) => Buffer.from(cursor, "base64url").subarray(1, 17).toString("hex");
    expect(tag(cipher.encrypt("a\nb", "c"))).not.toBe(tag(cipher.encrypt("a", "b\nc")));
    expect(tag(cipher.encrypt("list", "a"))).not.toBe(tag(cipher.encrypt("list", "b")));
  });

  it("shows nothing of its position: two that differ in one character share no more bytes than chance has it", () => {
    const bytes = (position: string) => [...Buffer.from(cipher.encrypt("list", position), "base64url").subarray(1)];
    const long = "2026-01-01T00:00:00.000Z ride".repeat(10);
    const [one, other] = [bytes(`${long}1`), bytes(`${long}2`)];
    expect(one.filter((byte, index) => byte === other[index]).length).toBeLessThan(20);
    // No block of the stream may occur twice: repetitions of the position would then show in the cursor.
    const zeros = Buffer.from(cipher.encrypt("list", "\0".repeat(320)), "base64url").subarray(17);
    const blocks = Array.from({ length: 10 }, (_, index) =>
      zeros.subarray(index * 32, index * 32 + 32).toString("hex"),
    );
    expect(new Set(blocks).size).toBe(10);
  });

  it("of an old key decrypts while that key is still among the secrets, and no longer", () => {
    const old = createCursorCipher([key(1)]).encrypt("list", "position");
    const both = createCursorCipher([key(2), key(1)]);
    expect(both.decrypt("list", old)).toBe("position");
    expect(createCursorCipher([key(2)]).decrypt("list", both.encrypt("list", "position"))).toBe("position");
    expect(createCursorCipher([key(2)]).decrypt("list", old)).toBeUndefined();
    expect(createCursorCipher([{ id: 1, key: key(2).key }]).decrypt("list", old)).toBeUndefined();
  });

  it("cannot be made without a key", () => {
    expect(() => createCursorCipher([])).toThrow(/at least one/);
  });
});
