// A client that openapi-typescript and openapi-fetch make of /openapi.json: tsc checks every name.
import assert from "node:assert";
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const client = createClient<paths, "application/json">({ baseUrl: process.env.BASE_URL });

const chat = await client.POST("/v1/chat/completions", {
  body: { messages: [{ role: "user", content: "Hello" }], max_tokens: 4, stop: ["###"] },
});
assert(chat.data, JSON.stringify(chat.error));
const answer: string | null = chat.data.choices[0].message.content;
const counted: number = chat.data.usage.completion_tokens;
assert(answer !== null && counted >= 1 && counted <= 4);

const models = await client.GET("/v1/models");
const names: string[] = models.data!.data.map((model) => model.id);
const model = await client.GET("/v1/models/{id}", { params: { path: { id: names[0] } } });
assert(model.data!.max_model_len > 0);

const told = await client.POST("/v1/messages", {
  body: { messages: [{ role: "user", content: "Hello" }], max_tokens: 4 },
});
assert(told.data!.content[0].type === "text" && told.data!.usage.output_tokens);

const refused = await client.POST("/v1/chat/completions", { body: { messages: [], top_p: 3 } });
assert(refused.error!.error.param);
console.log("done");
