mod file_store;
mod marks;
mod retrieval;
mod retrieval_json;
mod stores;
