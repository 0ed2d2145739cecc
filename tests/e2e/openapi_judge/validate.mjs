// An OpenAPI document on stdin; what the specification's schema has against it on stdout.
import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";

const validator = new Validator();
const found = await validator.validate(JSON.parse(readFileSync(0, "utf8")));
console.log(JSON.stringify({ ...found, version: validator.version }));
