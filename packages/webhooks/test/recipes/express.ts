import { createReceiver } from "@bikeshare/webhooks/express";
import express from "express";
import type { Express } from "express";
import type { Inbox } from "./inbox.ts";

export function createApp(secret: string, inbox: Inbox): Express {
  const app = express();
  // Above express.json(), which would leave nothing of the raw body.
  app.post("/webhooks", createReceiver({ secrets: secret, onDelivery: (delivery) => inbox.add(delivery) }));
  app.use(express.json());
  return app;
}
