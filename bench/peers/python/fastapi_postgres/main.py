"""FastAPI with rows of PostgreSQL by asyncpg and its pool, whose connections keep their statements, on uvicorn with
uvloop and httptools. DATABASE_URL says where the server is. /users/{id} is a row as JSON; POST /visits one that is
committed before the answer. One process, one thread."""

import argparse
import contextlib
import os

import asyncpg
import fastapi
import pydantic
import uvicorn
from fastapi.responses import PlainTextResponse

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--connections", type=int, required=True)
options = parser.parse_args()


@contextlib.asynccontextmanager
async def lifespan(app):
    async with asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=1, max_size=options.connections) as pool:
        app.state.pool = pool
        yield


app = fastapi.FastAPI(lifespan=lifespan, openapi_url=None)


class User(pydantic.BaseModel):
    id: int
    name: str
    email: str


class Visit(pydantic.BaseModel):
    page: str
    at: int


@app.get("/plaintext", response_class=PlainTextResponse)
async def plaintext():
    return "Hello, World!"


@app.get("/users/{number}")
async def read(number: int) -> User:
    row = await app.state.pool.fetchrow("select id, name, email from users where id = $1", number)
    if row is None:
        raise fastapi.HTTPException(404)
    return User(**row)


@app.post("/visits", status_code=201)
async def visit(given: Visit):
    await app.state.pool.execute("insert into visits (page, at) values ($1, $2)", given.page, given.at)


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=options.port, loop="uvloop", http="httptools", access_log=False,
                log_level="warning", server_header=False, timeout_keep_alive=3600)
